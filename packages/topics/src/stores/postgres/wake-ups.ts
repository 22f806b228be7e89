import { randomUUID } from 'node:crypto'
import type { Ear } from './connections.ts'
import type { Database } from './database.ts'

/** At most 200 per second and topic. */
const PAUSE_MS = 5
const NOTIFY = `select pg_notify($1, $2), set_config('synchronous_commit', 'off', true)`

/**
 * Tells other processes that a topic has something new. This happens after the commit, never inside the publishing
 * transaction (a commit with a notification takes a server-wide lock), and once for all publishes in the meantime.
 */
export class WakeUps {
  /** Identifies the sender, so that this process doesn't wake itself. */
  readonly sender = randomUUID()
  readonly #database: Database
  readonly #sending = new Map<number, Promise<void>>()
  readonly #waiting = new Set<number>()
  #ear: Ear | undefined
  #closed = false

  constructor(database: Database) {
    this.#database = database
  }

  /** Sends soon. Never fails: without it the others notice by polling. */
  send(topicId: number): void {
    if (this.#closed) return
    if (this.#sending.has(topicId)) {
      this.#waiting.add(topicId)
      return
    }
    this.#sending.set(topicId, this.#sendAll(topicId))
  }

  /** From now on wake-ups are sent on the listening connection, which is idle, and not on one of the pool. */
  sendOn(ear: Ear): void {
    this.#ear = ear
    void ear.gone.then(() => {
      if (this.#ear === ear) this.#ear = undefined
    })
  }

  async notify(payload: string): Promise<void> {
    const values = [this.#database.schema, payload]
    const ear = this.#ear
    if (ear?.query !== undefined) await ear.query(NOTIFY, values, 'tidemark_notify')
    else await this.#database.query(NOTIFY, values, 'tidemark_notify')
  }

  /** Waits for a send in progress. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#sending.values())
  }

  async #sendAll(topicId: number): Promise<void> {
    do {
      this.#waiting.delete(topicId)
      try {
        await this.notify(`${topicId}:${this.sender}`)
      } catch (error) {
        this.#database.logger.debug({ err: error }, 'could not notify other processes')
      }
      if (!this.#closed) await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    } while (this.#waiting.has(topicId))
    this.#sending.delete(topicId)
  }
}
