/** How often, and for how long after the last publish, consumers are told to poll. */
const EVERY_MS = 20
const FOR_MS = 300

/**
 * Nobody reports when a caller's transaction commits. Most commit at once, so for a moment after a publish inside one,
 * the topic's consumers are told to poll now and then: sooner than their own sweep would.
 */
export class CommitHints {
  readonly #hint: (topicId: number) => void
  readonly #until = new Map<number, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(hint: (topicId: number) => void) {
    this.#hint = hint
  }

  published(topicId: number): void {
    this.#until.set(topicId, performance.now() + FOR_MS)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#tick(), EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#until.clear()
  }

  #tick(): void {
    for (const [topicId, until] of this.#until) {
      this.#hint(topicId)
      if (performance.now() > until) this.#until.delete(topicId)
    }
    if (this.#until.size === 0) this.stop()
  }
}
