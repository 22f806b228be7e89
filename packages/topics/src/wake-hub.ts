/**
 * Wakes the consumers of a topic. A wake-up is only a hint: whoever waits looks again by itself after a while. A waiter
 * notes the count before it reads, so that a wake-up between its read and its wait is not lost.
 *
 * Competing consumers are woken in turn: whoever was served last comes last. The first one woken claims all there is of
 * a live stream, so in a fixed order one consumer got 600 of 600 messages and two got none. For the same reason one that
 * has just been served lets those that wait look before it looks again.
 */
export class WakeHub {
  /** Of the databases that are open in this process. */
  static readonly #shared = new Map<string, { readonly hub: WakeHub; users: number }>()
  /** In the order in which they are woken. */
  readonly #wakers = new Set<Waker>()

  /** All who have one database open share a hub, or the one that publishes would always look before the others do. */
  static join(database: string): { readonly hub: WakeHub; leave(): void } {
    const shared = WakeHub.#shared.get(database) ?? { hub: new WakeHub(), users: 0 }
    WakeHub.#shared.set(database, shared)
    shared.users++
    return { hub: shared.hub, leave: () => --shared.users === 0 && WakeHub.#shared.delete(database) }
  }

  wake(topicId: number | null): void {
    // A copy: a waiter that resumes at once would change the order under the loop.
    for (const waker of [...this.#wakers]) if (topicId === null || waker.topicId === topicId) waker.wake()
  }

  waker(topicId: number, subscriptionId: number | null = null): Waker {
    const waker: Waker = new Waker(topicId, subscriptionId, {
      dispose: () => this.#wakers.delete(waker),
      served: () => this.#wakers.delete(waker) && this.#wakers.add(waker),
      wakeRivals: () => this.#wakeRivals(waker),
    })
    this.#wakers.add(waker)
    return waker
  }

  #wakeRivals(waker: Waker): boolean {
    const waiting = [...this.#wakers].filter(each => each.isWaiting && each.subscriptionId === waker.subscriptionId)
    for (const rival of waiting) rival.wake()
    return waiting.length > 0
  }
}

type Hub = { readonly dispose: () => void; readonly served: () => void; readonly wakeRivals: () => boolean }

export class Waker {
  readonly topicId: number
  readonly subscriptionId: number | null
  readonly #hub: Hub
  #count = 0
  #isServed = false
  #resume: (() => void) | undefined

  constructor(topicId: number, subscriptionId: number | null, hub: Hub) {
    this.topicId = topicId
    this.subscriptionId = subscriptionId
    this.#hub = hub
  }

  get isWaiting(): boolean {
    return this.#resume !== undefined
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

  /** It has got something: the others of its topic come first next time. */
  served(): void {
    this.#isServed = true
    this.#hub.served()
  }

  /** Once each time it was served: its subscription's other consumers that wait here look first. */
  async letOthersFirst(): Promise<void> {
    if (!this.#isServed) return
    this.#isServed = false
    if (this.#hub.wakeRivals()) await new Promise(resolve => setImmediate(resolve))
  }

  dispose(): void {
    this.#hub.dispose()
    this.wake()
  }
}
