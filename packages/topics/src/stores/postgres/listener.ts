import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Backoff, backoffMs, spread } from '../../backoff.ts'
import type { Ear } from './connections.ts'
import type { Database } from './database.ts'
import { lockKey } from './schema-name.ts'
import type { WakeUps } from './wake-ups.ts'

const PROOF_TIMEOUT_MS = 2_000
const RETRY: Backoff = { initialMs: 100, maxMs: 5_000, factor: 2 }
/** A connection that lasted this long was good: the next loss starts with the shortest backoff again. */
const GOOD_MS = 5_000
/** An idle channel is silent, so the connection is probed at this interval. */
const ASK_EVERY_MS = 10_000
const ANSWER_MS = 5_000

/** Held in shared mode by every process that has the namespace open; a repair takes it exclusively. */
export const usersLock = (schema: string): string => lockKey(schema, 'users')

/**
 * Receives other processes' wake-ups on a dedicated connection. A single loop replaces it after it has gone, so that
 * there is never a second one.
 *
 *     start() ──▶ listening ──gone, or silent──▶ waiting ──▶ listening     (tells the watchers: something may have been missed)
 *                    └──────────close()─────────────┴──▶ closed
 */
export class Listener {
  readonly #database: Database
  readonly #wakeUps: WakeUps
  readonly #watchers = new Set<(topicId: number | null) => void>()
  readonly #closing = new AbortController()
  #ear: Ear | undefined
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

  /** False if notifications don't arrive, as behind a pooler that gives every transaction another connection. */
  async start(): Promise<boolean> {
    if (!this.#database.canListen) {
      this.#warn('LISTEN is not used: the pool is too small to keep a connection for it, or its driver has none')
      return false
    }
    const ear = await this.#connect()
    if (await this.#isProven()) {
      // Not before sessions are proven: behind a pooler the lock would stay on a connection that is given to somebody
      // else.
      this.#keepsSession = true
      await this.#beSeen(ear)
      this.#staying = this.#stay(ear)
      return true
    }
    await this.close()
    this.#warn('LISTEN does not work on this connection (a pooler in transaction mode?)')
    return false
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#ear?.leave()
    await this.#staying
  }

  async #stay(first: Ear): Promise<void> {
    let ear: Ear | undefined = first
    let failures = 0
    while (!this.#closing.signal.aborted) {
      const since = performance.now()
      if (ear !== undefined) await this.#listen(ear)
      ear?.destroy()
      if (performance.now() - since > GOOD_MS) failures = 0
      await this.#pause(spread(backoffMs(RETRY, ++failures)))
      if (this.#closing.signal.aborted) return
      ear = await this.#connect().catch(error => {
        this.#database.logger.debug({ err: error }, 'could not listen for wake-ups, trying again')
        return undefined
      })
      if (ear !== undefined) this.#tell(null)
    }
  }

  /** Resolves when the connection is gone. */
  async #listen(ear: Ear): Promise<void> {
    const asking = setInterval(() => {
      ear.query?.('select 1', []).catch(() => ear.destroy())
    }, ASK_EVERY_MS)
    asking.unref()
    await ear.gone
    clearInterval(asking)
  }

  /** A failed attempt leaves nothing behind. */
  async #connect(): Promise<Ear> {
    const limitMs = Math.min(ANSWER_MS, this.#database.statementTimeoutMs)
    const ear = await this.#database.listen(payload => this.#hear(payload), limitMs, this.#closing.signal)
    this.#ear = ear
    try {
      if (this.#keepsSession) await this.#beSeen(ear)
      return ear
    } catch (error) {
      ear.destroy()
      throw error
    }
  }

  /** If the listening connection takes no statements, a repair does not know about this process. */
  async #beSeen(ear: Ear): Promise<void> {
    await ear.query?.('select pg_advisory_lock_shared($1)', [usersLock(this.#database.schema)])
    this.#wakeUps.sendOn(ear)
  }

  #warn(what: string): void {
    this.#database.logger.warn(
      { location: this.#database.location },
      `${what}: other processes notice new messages by looking, not at once. Connect to the server directly to change that`,
    )
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

  /** null: something may have been missed. */
  #hear(payload: string | null): void {
    const [subject, detail] = payload?.split(':') ?? []
    if (subject === undefined) this.#tell(null)
    else if (subject === 'proof') this.#onProof?.(detail ?? '')
    else if (detail !== this.#wakeUps.sender) this.#tell(Number(subject))
  }

  #tell(topicId: number | null): void {
    for (const wake of this.#watchers) wake(topicId)
  }
}
