import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Database } from './database.ts'
import { lockKey, quoteIdentifier } from './schema-name.ts'
import type { WakeUps } from './wake-ups.ts'

const PROOF_TIMEOUT_MS = 2_000
const BACKOFF_MS = { initial: 100, max: 5_000 }

/** Held, shared, by every process that has the namespace open; a repair asks for it alone. */
export const usersLock = (schema: string): string => lockKey(schema, 'users')

/**
 * Hears other processes' wake-ups, on one connection of its own.
 *
 *     start() ──▶ listening ──connection lost──▶ waiting ──▶ listening     (tells the watchers: something may be missed)
 *                    └──────────close()─────────────┴──▶ closed
 */
export class Listener {
  readonly #database: Database
  readonly #wakeUps: WakeUps
  readonly #watchers = new Set<(topicId: number | null) => void>()
  #client: pg.Client | undefined
  #retry: NodeJS.Timeout | undefined
  #connecting: Promise<void> | undefined
  #onProof: ((token: string) => void) | undefined
  #failures = 0
  #keepsSession = false
  #closed = false

  constructor(database: Database, wakeUps: WakeUps) {
    this.#database = database
    this.#wakeUps = wakeUps
  }

  watch(wake: (topicId: number | null) => void): void {
    this.#watchers.add(wake)
  }

  /** False where notifications don't arrive, as behind a pooler that gives every transaction another connection. */
  async start(): Promise<boolean> {
    await this.#connect()
    if (await this.#isProven()) {
      // Not before the proof: behind a pooler the lock would stay on a connection that is given to somebody else.
      this.#keepsSession = true
      if (this.#client) await this.#beSeen(this.#client)
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
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#connecting?.catch(() => {})
    await this.#client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const client = this.#database.newClient()
    let isLost = false
    const lost = () => {
      if (isLost) return
      isLost = true
      this.#reconnect()
    }
    client.on('notification', ({ payload }) => this.#hear(payload ?? ''))
    // Without a listener a lost connection would end the process.
    client.on('error', lost)
    try {
      await client.connect()
      await client.query(`listen ${quoteIdentifier(this.#database.schema)}`)
      if (this.#keepsSession) await this.#beSeen(client)
    } catch (error) {
      isLost = true
      await client.end().catch(() => {})
      throw error
    }
    client.on('end', lost)
    this.#client = client
    this.#failures = 0
  }

  async #beSeen(client: pg.Client): Promise<void> {
    await client.query('select pg_advisory_lock_shared($1)', [usersLock(this.#database.schema)])
  }

  #reconnect(): void {
    if (this.#closed) return
    const wait = Math.min(BACKOFF_MS.max, BACKOFF_MS.initial * 2 ** this.#failures++)
    this.#retry = setTimeout(
      () => {
        this.#connecting = this.#connect().then(
          () => this.#tell(null),
          error => {
            this.#database.logger.debug({ err: error }, 'could not listen for wake-ups, trying again')
            this.#reconnect()
          },
        )
      },
      wait * (0.5 + Math.random() / 2),
    )
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
