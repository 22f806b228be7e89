import pg from 'pg'
import { withTimeout } from '../../with-timeout.ts'

export type SessionConfig = pg.ClientConfig & {
  /** Every statement is answered within this, or the connection is gone. */
  readonly limitMs: number
  /** Hears of a connection that did not answer, and since when. */
  readonly onSilence: (sentAt: number) => void
}

const LONGEST_TIMER_MS = 0x7fff_ffff
/** How long a server is given to say goodbye. */
const GOODBYE_MS = 1_000

/** A connection that did not answer in time, as the system would say it of a broken one. */
class SilenceError extends Error {
  readonly code = 'ETIMEDOUT'

  constructor(limitMs: number) {
    super(`No answer within ${limitMs} ms`)
    this.name = 'SilenceError'
  }
}

/**
 * The driver's client, whose every statement has a deadline on this side: behind a network that forgot the connection nobody
 * else would ever end the wait. One that missed its deadline is destroyed, and everything that waits for it fails.
 */
export class Session extends pg.Client {
  /** Of the statements to come. */
  limitMs: number
  /** Resolves when the connection is no more, whatever ended it. */
  readonly gone: Promise<void>
  /** Which settings the server was told to apply to it. */
  settings: string | undefined
  #answeredAt = performance.now()
  #isGone = false
  #isConnected = false
  readonly #end: () => void
  readonly #onSilence: (sentAt: number) => void

  constructor({ limitMs, onSilence, ...config }: SessionConfig) {
    super(config)
    this.limitMs = limitMs
    this.#onSilence = onSilence
    const { promise, resolve } = Promise.withResolvers<void>()
    this.gone = promise
    this.#end = () => {
      this.#isGone = true
      resolve()
    }
    this.on('connect', () => {
      this.#isConnected = true
    })
    // Without a listener a lost connection would end the process.
    this.on('error', this.#end)
    this.on('end', this.#end)
    const send = this.query.bind(this) as (...args: unknown[]) => Promise<unknown>
    this.query = ((...args: unknown[]) => this.#timed(() => send(...args))) as typeof this.query
  }

  /** When it last answered, on the monotonic clock. */
  get answeredAt(): number {
    return this.#answeredAt
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** At once, and without a word to the server. */
  destroy(reason?: Error): void {
    this.#end()
    this.connection.stream.destroy(reason)
  }

  /** With a word to the server, which is not waited for long. */
  async leave(): Promise<void> {
    // The driver's end() would leave a connect() that is under way waiting for ever.
    if (this.#isConnected && !this.#isGone) await withTimeout(this.end(), GOODBYE_MS)
    this.destroy()
  }

  async #timed<T>(send: () => Promise<T>): Promise<T> {
    const sentAt = performance.now()
    const limitMs = Math.min(this.limitMs, LONGEST_TIMER_MS)
    const timer = setTimeout(() => {
      this.#onSilence(sentAt)
      this.destroy(new SilenceError(limitMs))
    }, limitMs)
    try {
      return await send()
    } finally {
      clearTimeout(timer)
      if (!this.#isGone) this.#answeredAt = performance.now()
    }
  }
}
