import type { Client } from './nats/client.ts'
import type { Names } from './nats/names.ts'

const PROBE_EVERY_MS = 60_000
const MOST_BACK_MS = 2_000

/**
 * The time of the server that leads the namespace's stream: a message is written and read back, and the stream tells
 * when it was stored.
 */
export class Clock {
  readonly #client: Client
  readonly #names: Names
  /** Time of the server when `performance.now()` was 0: a jump of this machine's clock does not matter. */
  #origin = performance.timeOrigin
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
    const now = Math.round(this.#origin + performance.now())
    // Small steps back are evened out; after a leader whose clock was ahead, time would stand still for as long.
    this.#last = this.#last - now > MOST_BACK_MS ? now : Math.max(this.#last, now)
    return this.#last
  }

  async probe(): Promise<void> {
    const subject = this.#names.inNamespace('clock')
    const began = performance.now()
    await this.#client.storeSurely([{ subject, data: new Uint8Array(0) }])
    const ended = performance.now()
    const local = Date.now()
    const stored = await this.#client.last(this.#names.namespaceStream(), subject)
    this.#probedAt = performance.now()
    if (stored === null) return
    const offset = stored.at - (local - (ended - began) / 2)
    // A difference within the time of the request is none.
    const isNone = Math.abs(offset) <= ended - began + 1
    this.#origin = isNone ? local - ended : stored.at - (began + ended) / 2
  }
}
