import type { Client } from './nats/client.ts'
import type { Names } from './nats/names.ts'

const PROBE_EVERY_MS = 60_000

/**
 * The time of the server that leads the namespace's stream: a message is written and read back, and the stream tells
 * when it was stored. It never goes back.
 */
export class Clock {
  readonly #client: Client
  readonly #names: Names
  #offsetMs = 0
  #probedAt = Number.NEGATIVE_INFINITY
  #last = 0

  constructor(client: Client, names: Names) {
    this.#client = client
    this.#names = names
  }

  now(): number {
    if (performance.now() - this.#probedAt > PROBE_EVERY_MS) {
      this.#probedAt = performance.now()
      // The old offset serves until then.
      void this.probe().catch(() => {})
    }
    this.#last = Math.max(this.#last, Math.round(Date.now() + this.#offsetMs))
    return this.#last
  }

  async probe(): Promise<void> {
    const subject = this.#names.inNamespace('clock')
    const began = Date.now()
    await this.#client.storeAgain({ subject, data: new Uint8Array(0) })
    const ended = Date.now()
    const stored = await this.#client.last(this.#names.namespaceStream(), subject)
    this.#probedAt = performance.now()
    if (stored === null) return
    // A difference within the time of the request is none.
    const middle = (began + ended) / 2
    const offset = stored.at - middle
    this.#offsetMs = Math.abs(offset) <= ended - began + 1 ? 0 : offset
  }
}
