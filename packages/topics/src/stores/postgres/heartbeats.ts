import type pg from 'pg'
import { RETAINED_BACKFILL } from '../../backfill/backfill-plan.ts'
import type { Heartbeat, HeartbeatResult } from '../fan-out-store.ts'
import type { Database, Row } from './database.ts'
import { mapError } from './database-errors.ts'
import { backfillSettings } from './resurrect.ts'

const HEARTBEAT = 'select * from tidemark.heartbeat($1, $2, $3, $4, $5)'
/** A heartbeat that takes longer has failed: the next attempt is worth more than its answer. */
const TIMEOUT_MS = 5_000

/**
 * A connection of their own, outside the pool: groups whose work has taken every connection are alive all the same. Made
 * with the first heartbeat, and anew with the next after one that failed.
 */
export class HeartbeatConnection {
  readonly #database: Database
  #client: Promise<pg.Client> | undefined
  #running: Promise<unknown> = Promise.resolve()
  #closed = false

  constructor(database: Database) {
    this.#database = database
  }

  heartbeat(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    // One at a time: a client would queue a second behind one that hangs.
    const running = this.#running.then(() => this.#send(beats))
    this.#running = running.catch(() => undefined)
    return running
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#running
    await this.#drop()
  }

  async #send(beats: readonly Heartbeat[]): Promise<HeartbeatResult[]> {
    try {
      this.#client ??= this.#connect()
      const client = await this.#client
      const { rows } = await client.query<Row>({
        text: this.#database.sql(HEARTBEAT),
        values: [
          beats.map(beat => beat.subscriptionId),
          beats.map(beat => beat.processed),
          beats.map(beat => beat.failed),
          beats.map(beat => beat.filtered),
          backfillSettings(RETAINED_BACKFILL),
        ],
      })
      const results = new Map(rows.map(row => [Number(row.id), row]))
      return beats.map(({ subscriptionId }) => toResult(subscriptionId, results.get(subscriptionId)))
    } catch (error) {
      // Whatever went wrong, the next one begins anew; a connection that hangs is not waited for.
      void this.#drop()
      throw mapError(error, this.#database.location)
    } finally {
      if (this.#closed) await this.#drop()
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = this.#database.newClient({ connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS })
    // Without a listener a lost connection would end the process.
    client.on('error', () => {
      this.#client = undefined
    })
    await client.connect()
    // Behind a pooler the next transaction may have another session, and this one another user: the client's own limit does.
    if (this.#database.keepsSessions) await client.query(`set statement_timeout = ${TIMEOUT_MS}`)
    return client
  }

  async #drop(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.then(each => each.end()).catch(() => undefined)
  }
}

function toResult(subscriptionId: number, row: Row | undefined): HeartbeatResult {
  if (row === undefined) return { subscriptionId, status: 'GONE', resurrected: null }
  const resurrected =
    row.epoch === null
      ? null
      : { epoch: Number(row.epoch), skipped: Number(row.skipped), backfill: Boolean(row.backfill) }
  return { subscriptionId, status: row.status as HeartbeatResult['status'], resurrected }
}
