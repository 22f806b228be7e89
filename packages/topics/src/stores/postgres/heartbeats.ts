import { DEFAULT_BACKFILL } from '../../backfill/backfill-plan.ts'
import { ClosedError } from '../../errors.ts'
import type { Heartbeat, HeartbeatResult, Heartbeats } from '../heartbeats.ts'
import type { Apart } from './connections.ts'
import { listConsumers, toReports } from './consumers.ts'
import type { Database } from './database.ts'
import { detectDead } from './dead-groups.ts'
import { backfillSettings, toResurrected } from './resurrect.ts'
import type { Row } from './row.ts'

/** The heartbeats of one schema's groups. */
export function postgresHeartbeats(database: Database, beating: HeartbeatConnection): Heartbeats {
  return {
    send: beats => beating.heartbeat(beats),
    consumers: topic => database.read({ topic }, tx => listConsumers(tx, topic)),
    detectDead: () => database.maintenance({}, detectDead),
  }
}

const HEARTBEAT = 'select * from tidemark_fn.heartbeat($1, $2, $3, $4, $5, $6, $7, $8)'
/** A slower heartbeat has failed: the next attempt is worth more than its answer. */
const TIMEOUT_MS = 5_000

/**
 * A separate connection outside the pool: groups whose work occupies every connection are still alive. Made with the
 * first heartbeat, and again after a failed one.
 */
export class HeartbeatConnection {
  readonly #database: Database
  #session: Apart | undefined
  /** Consumers of this process were reported, and have to be removed when they leave. */
  #hasReported = false
  #running: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(database: Database) {
    this.#database = database
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    // One at a time: a client would queue a second heartbeat behind one that hangs.
    const running = this.#running.then(() => this.#send(beats))
    this.#running = running.catch(() => undefined)
    return running
  }

  async close(): Promise<void> {
    this.#closed = true
    // A heartbeat in progress fails then.
    await this.#session?.leave()
    await this.#running
  }

  async #send(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    const reports = beats.flatMap(toReports)
    const isLast = beats.every(({ activity }) => activity?.group === null)
    try {
      const rows = await this.#query(this.#database.sql(HEARTBEAT), isLast, [
        beats.map(beat => beat.subscriptionId),
        beats.map(beat => beat.subscriptionUid),
        beats.map(beat => beat.processed),
        beats.map(beat => beat.failed),
        beats.map(beat => beat.filtered),
        backfillSettings(DEFAULT_BACKFILL),
        beats[0]?.activity?.instance ?? '',
        reports.length === 0 && !this.#hasReported ? null : JSON.stringify(reports),
      ])
      if (reports.length > 0) this.#hasReported = true
      if (rows.some(({ status }) => status === 'GONE')) await this.#database.requireNamespace()
      const results = new Map(rows.map(row => [Number(row.id), row]))
      return beats.map(({ subscriptionId }) => toResult(subscriptionId, results.get(subscriptionId)))
    } catch (error) {
      // Whatever went wrong, the next heartbeat gets a new connection; one that hangs is not waited for.
      this.#session?.destroy()
      throw await this.#database.explain(error, TIMEOUT_MS)
    }
  }

  async #query(text: string, isLast: boolean, values: unknown[]): Promise<Row[]> {
    if (this.#closed) throw new ClosedError('The store')
    if (this.#session === undefined || this.#session.isGone) {
      // The only heartbeat of groups that stop before the first was due is not worth a connection of its own.
      const session = isLast && this.#database.hasRoom ? undefined : this.#database.apart(TIMEOUT_MS)
      // There are only the program's connections: a heartbeat waits for one like any other statement.
      if (session === undefined) return await this.#database.query(text, values, undefined, TIMEOUT_MS)
      this.#session = session
      await session.connect()
      // Behind a pooler the next transaction may run in another session, and another user may get this one, so only the
      // client's own timeout is used.
      if (this.#database.hasSessions) {
        await session.query({ text: `set statement_timeout = ${TIMEOUT_MS}`, values: [] })
      }
    }
    return await this.#session.query({ text, values })
  }
}

function toResult(subscriptionId: number, row: Row | undefined): HeartbeatResult {
  if (row === undefined) return { subscriptionId, status: 'GONE', resurrected: null }
  const resurrected = row.epoch === null ? null : { ...toResurrected(row), backfill: row.backfill === 't' }
  return { subscriptionId, status: row.status as HeartbeatResult['status'], resurrected }
}
