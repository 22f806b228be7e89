import { RateLimitError } from '../errors.ts'

const MOST_KEYS = 10_000

/** Requests per second for each caller, with bursts of twice as many after a pause. */
export class RequestRate {
  readonly #perSecond: number
  readonly #left = new Map<string, { left: number; at: number }>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  take(key: string, now = performance.now()): void {
    const most = this.#perSecond * 2
    const known = this.#left.get(key) ?? { left: most, at: now }
    known.left = Math.min(most, known.left + ((now - known.at) / 1_000) * this.#perSecond)
    known.at = now
    if (!this.#left.has(key)) this.#forgetIdle(now)
    this.#left.set(key, known)
    if (known.left < 1) throw new RateLimitError(`More than ${this.#perSecond} requests a second`, 1)
    known.left--
  }

  /** After two seconds of silence the full allowance is back, so nothing is lost by forgetting. */
  #forgetIdle(now: number): void {
    if (this.#left.size < MOST_KEYS) return
    for (const [key, { at }] of this.#left) if (now - at > 2_000) this.#left.delete(key)
    for (const key of this.#left.keys()) {
      if (this.#left.size < MOST_KEYS) return
      this.#left.delete(key)
    }
  }
}

/** Limits the unanswered requests of each caller. */
export class RequestsAtOnce {
  readonly #most: number
  readonly #open = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  enter(key: string): () => void {
    const open = this.#open.get(key) ?? 0
    if (open >= this.#most) throw new RateLimitError(`${open} requests are not answered yet`, 1)
    this.#open.set(key, open + 1)
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      const now = (this.#open.get(key) ?? 1) - 1
      if (now === 0) this.#open.delete(key)
      else this.#open.set(key, now)
    }
  }
}

const MINUTE_MS = 60_000

type Wrong = { count: number; readonly since: number }

/**
 * Counts wrong tokens by address. Over the limit, tokens from that address are not checked until the minute is over,
 * except those that were right there before: others behind the same address continue.
 */
export class WrongTokens {
  readonly #perMinute: number
  readonly #wrong = new Map<string, Wrong>()
  readonly #right = new Map<string, Set<string>>()

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  isBlocked(address: string, now = performance.now()): boolean {
    const wrong = this.#wrong.get(address)
    return wrong !== undefined && now - wrong.since < MINUTE_MS && wrong.count >= this.#perMinute
  }

  wasRight(address: string, name: string): boolean {
    return this.#right.get(address)?.has(name) ?? false
  }

  right(address: string, name: string): void {
    const names = this.#right.get(address) ?? new Set()
    if (names.has(name)) return
    bound(this.#right)
    this.#right.set(address, names.add(name))
  }

  wrong(address: string, now = performance.now()): void {
    const known = this.#wrong.get(address)
    if (known !== undefined && now - known.since < MINUTE_MS) known.count++
    else {
      bound(this.#wrong)
      this.#wrong.set(address, { count: 1, since: now })
    }
  }

  forget(): void {
    this.#wrong.clear()
  }

  secondsLeft(address: string, now = performance.now()): number {
    const since = this.#wrong.get(address)?.since ?? now
    return Math.max(1, Math.ceil((since + MINUTE_MS - now) / 1_000))
  }
}

/** The oldest are dropped first. */
function bound(map: Map<string, unknown>): void {
  if (map.size >= MOST_KEYS) for (const key of map.keys().take(1)) map.delete(key)
}
