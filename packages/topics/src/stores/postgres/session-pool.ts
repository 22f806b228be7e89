import type { PoolUse } from '../inspection.ts'
import { NotConnectedError } from './database-errors.ts'
import type { Session } from './session.ts'

type Waiting = { readonly give: (session: Session | Promise<Session>) => void; readonly timer: NodeJS.Timeout }

const IDLE_MS = 10_000

export type SessionPoolOptions = {
  readonly size: number
  /** How long to wait for a free connection. */
  readonly waitMs: number
  /** A new one, not connected. */
  readonly make: () => Session
  /** How long a connection that nobody uses is kept (default 10 s). */
  readonly idleMs?: number
  readonly onIdleError: (error: unknown) => void
}

/**
 * Up to `size` connections, made when they are needed. The one that was used last is used next, so that the others can
 * be closed when they have been idle for a while. Taking a free one costs neither a timer nor a turn of the event loop,
 * unlike with the driver's own pool, which takes the program 10 µs for each statement.
 */
export class SessionPool {
  readonly #options: SessionPoolOptions
  readonly #idleMs: number
  readonly #all = new Set<Session>()
  /** With the time since when; the last one was used last. */
  readonly #idle: { readonly session: Session; readonly since: number }[] = []
  readonly #waiting: Waiting[] = []
  #sweeping: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: SessionPoolOptions) {
    this.#options = options
    this.#idleMs = options.idleMs ?? IDLE_MS
  }

  use(): PoolUse {
    const busy = this.#all.size - this.#idle.length
    return { size: this.#options.size, busy, waiting: this.#waiting.length }
  }

  /** A connection to be released; at once if one is free. */
  acquire(): Session | Promise<Session> {
    if (this.#isClosed) throw closed()
    for (let free = this.#idle.pop(); free !== undefined; free = this.#idle.pop()) {
      if (!free.session.isGone) return free.session
      this.#remove(free.session)
    }
    if (this.#all.size < this.#options.size) return this.#connect()
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(new NotConnectedError(`No connection was free within ${this.#options.waitMs} ms`))
      }
      const waiting = { give: resolve, timer: setTimeout(giveUp, this.#options.waitMs) }
      this.#waiting.push(waiting)
    })
  }

  /** A broken one is not used again. */
  release(session: Session, isBroken: boolean): void {
    if (isBroken || this.#isClosed || session.isGone) {
      this.#remove(session)
      return
    }
    const next = this.#nextWaiting()
    if (next === undefined) this.#keep(session)
    else next.give(session)
  }

  /** Closes those that are free, and the others when they are released. Whoever waits for one is refused. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#sweeping)
    for (const { session } of this.#idle.splice(0)) this.#remove(session)
    while (this.#waiting.length > 0) this.#nextWaiting()?.give(Promise.reject(closed()))
  }

  async #connect(): Promise<Session> {
    const session = this.#options.make()
    this.#all.add(session)
    session.on('error', error => this.#lost(session, error))
    session.on('end', () => this.#lost(session, undefined))
    try {
      await session.connect()
      return session
    } catch (error) {
      this.#remove(session)
      throw error
    }
  }

  /** An idle connection that breaks is replaced when the next one is needed; others fail with their statements. */
  #lost(session: Session, error: unknown): void {
    const index = this.#idle.findIndex(each => each.session === session)
    if (index === -1) return
    this.#idle.splice(index, 1)
    this.#remove(session)
    if (error !== undefined) this.#options.onIdleError(error)
  }

  /** Whoever waits gets a new one instead. */
  #remove(session: Session): void {
    if (!this.#all.delete(session)) return
    void session.leave()
    const next = this.#isClosed ? undefined : this.#nextWaiting()
    next?.give(this.#connect())
  }

  #nextWaiting(): Waiting | undefined {
    const next = this.#waiting.shift()
    clearTimeout(next?.timer)
    return next
  }

  #keep(session: Session): void {
    this.#idle.push({ session, since: performance.now() })
    if (this.#idle.length === 1) this.#sweepIn(this.#idleMs)
  }

  /** One timer for all, set when the first becomes idle: it may be used often until then. */
  #sweepIn(ms: number): void {
    this.#sweeping ??= setTimeout(() => this.#sweep(), ms).unref()
  }

  #sweep(): void {
    this.#sweeping = undefined
    const before = performance.now() - this.#idleMs
    const count = this.#idle.findIndex(({ since }) => since > before)
    for (const { session } of this.#idle.splice(0, count === -1 ? this.#idle.length : count)) this.#remove(session)
    const [oldest] = this.#idle
    if (oldest !== undefined) this.#sweepIn(Math.ceil(oldest.since - before))
  }
}

const closed = (): NotConnectedError => new NotConnectedError('The connections are closed')
