import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../../backoff.ts'
import type { Database } from './database.ts'
import { lockKey, quoteIdentifier } from './schema-name.ts'
import type { Session } from './session.ts'
import type { WakeUps } from './wake-ups.ts'

const PROOF_TIMEOUT_MS = 2_000
const RETRY: Backoff = { initialMs: 100, maxMs: 5_000, factor: 2 }
/** A connection that held for so long was a good one: the next loss begins with the shortest wait again. */
const GOOD_MS = 5_000
/** Nothing is heard where nothing happens, so it is asked now and then whether it is still there. */
const ASK_EVERY_MS = 10_000
const ANSWER_MS = 5_000

/** Held, shared, by every process that has the namespace open; a repair asks for it alone. */
export const usersLock = (schema: string): string => lockKey(schema, 'users')

/**
 * Hears other processes' wake-ups, on one connection of its own: the next is made by the one loop that has seen the
 * last one gone, so that there is never a second.
 *
 *     start() ──▶ listening ──gone, or silent──▶ waiting ──▶ listening     (tells the watchers: something may be missed)
 *                    └──────────close()─────────────┴──▶ closed
 */
export class Listener {
  readonly #database: Database
  readonly #wakeUps: WakeUps
  readonly #watchers = new Set<(topicId: number | null) => void>()
  readonly #closing = new AbortController()
  #session: Session | undefined
  #staying: Promise<void> | undefined
  #onProof: ((token: string) => void) | undefined
  #keepsSession = false

  constructor(database: Database, wakeUps: WakeUps) {
    this.#database = database
    this.#wakeUps = wakeUps
  }

  watch(wake: (topicId: number | null) => void): void {
    this.#watchers.add(wake)
  }

  /** False where notifications don't arrive, as behind a pooler that gives every transaction another connection. */
  async start(): Promise<boolean> {
    const session = await this.#connect()
    if (await this.#isProven()) {
      // Not before the proof: behind a pooler the lock would stay on a connection that is given to somebody else.
      this.#keepsSession = true
      await this.#beSeen(session)
      this.#staying = this.#stay(session)
      return true
    }
    await this.close()
    this.#database.logger.warn(
      { location: this.#database.location },
      'LISTEN does not work on this connection (a pooler in transaction mode?): ' +
        'other processes notice new messages by looking, not at once. Connect to the server directly to change that',
    )
    return false
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#session?.leave()
    await this.#staying
  }

  async #stay(first: Session): Promise<void> {
    let session: Session | undefined = first
    let failures = 0
    while (!this.#closing.signal.aborted) {
      const since = performance.now()
      if (session !== undefined) await this.#listen(session)
      session?.destroy()
      if (performance.now() - since > GOOD_MS) failures = 0
      await this.#pause(spread(backoffMs(RETRY, ++failures)))
      if (this.#closing.signal.aborted) return
      session = await this.#connect().catch(error => {
        this.#database.logger.debug({ err: error }, 'could not listen for wake-ups, trying again')
        return undefined
      })
      if (session !== undefined) this.#tell(null)
    }
  }

  /** Until it is gone. */
  async #listen(session: Session): Promise<void> {
    const asking = setInterval(() => {
      session.query('select 1').catch(() => session.destroy())
    }, ASK_EVERY_MS)
    asking.unref()
    await session.gone
    clearInterval(asking)
  }

  /** Nothing of one that fails is left. */
  async #connect(): Promise<Session> {
    const session = this.#database.newSession(Math.min(ANSWER_MS, this.#database.statementTimeoutMs))
    this.#session = session
    session.on('notification', ({ payload }) => this.#hear(payload ?? ''))
    try {
      await session.connect()
      await session.query(`listen ${quoteIdentifier(this.#database.schema)}`)
      if (this.#keepsSession) await this.#beSeen(session)
      return session
    } catch (error) {
      session.destroy()
      throw error
    }
  }

  async #beSeen(session: Session): Promise<void> {
    await session.query('select pg_advisory_lock_shared($1)', [usersLock(this.#database.schema)])
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined)
  }

  async #isProven(): Promise<boolean> {
    const token = randomUUID()
    const heard = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => heard.resolve(false), PROOF_TIMEOUT_MS)
    this.#onProof = received => {
      if (received === token) heard.resolve(true)
    }
    try {
      await this.#wakeUps.notify(`proof:${token}`)
      return await heard.promise
    } finally {
      clearTimeout(timer)
      this.#onProof = undefined
    }
  }

  #hear(payload: string): void {
    const [subject, detail] = payload.split(':')
    if (subject === 'proof') this.#onProof?.(detail ?? '')
    else if (detail !== this.#wakeUps.sender) this.#tell(Number(subject))
  }

  #tell(topicId: number | null): void {
    for (const wake of this.#watchers) wake(topicId)
  }
}
