/** Few steps, because each reads a page in vain: a thousand messages, then 62, then 3, then one. */
const FEWER = 16

/**
 * Limits the number of messages per claim if they are large. A page also has a limit in bytes (functions/claim.sql): a
 * claim that exceeds it is rolled back by the server and repeated for fewer. The number that fitted is kept, and
 * doubles with every page that fits, so that a few large messages do not slow down the small ones behind them.
 */
export class PageLimits {
  readonly #limits = new Map<number, number>()

  of(subscriptionId: number, asked: number): number {
    return Math.min(asked, this.#limits.get(subscriptionId) ?? asked)
  }

  /** Claim fewer next time. False if a single message is too large. */
  tooLarge(subscriptionId: number, limit: number): boolean {
    if (limit === 1) return false
    this.#limits.set(subscriptionId, Math.max(1, Math.floor(limit / FEWER)))
    return true
  }

  fitted(subscriptionId: number, limit: number, asked: number): void {
    if (!this.#limits.has(subscriptionId)) return
    if (limit * 2 >= asked) this.#limits.delete(subscriptionId)
    else this.#limits.set(subscriptionId, limit * 2)
  }

  forget(subscriptionId: number): void {
    this.#limits.delete(subscriptionId)
  }
}
