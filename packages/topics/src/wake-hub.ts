/**
 * Wakes the consumers of a topic. A wake-up is only a hint: whoever waits looks again by itself after a while. A waiter
 * notes the count before it reads, so that a wake-up between its read and its wait is not lost.
 */
export class WakeHub {
  readonly #wakers = new Set<Waker>()

  wake(topicId: number | null): void {
    for (const waker of this.#wakers) if (topicId === null || waker.topicId === topicId) waker.wake()
  }

  waker(topicId: number): Waker {
    const waker = new Waker(topicId, () => this.#wakers.delete(waker))
    this.#wakers.add(waker)
    return waker
  }
}

export class Waker {
  readonly topicId: number
  readonly #dispose: () => void
  #count = 0
  #resume: (() => void) | undefined

  constructor(topicId: number, dispose: () => void) {
    this.topicId = topicId
    this.#dispose = dispose
  }

  get count(): number {
    return this.#count
  }

  wake(): void {
    this.#count++
    this.#resume?.()
  }

  /** Until a wake-up after `seen`, or `ms` have passed. One waiter at a time. */
  async wait(seen: number, ms: number): Promise<void> {
    if (this.#count !== seen || ms <= 0) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#resume = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#resume = undefined
  }

  dispose(): void {
    this.#dispose()
    this.wake()
  }
}
