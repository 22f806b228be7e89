/**
 * Wakes the consumers of a topic. A wake-up is only a hint: a waiting consumer polls by itself after a while. A waiter
 * reads the count before it polls, so that a wake-up between its poll and its wait is not lost.
 *
 * Competing consumers are woken in turn: the one served last comes last. In a live stream the first one woken claims
 * everything there is, so with a fixed order one consumer got 600 of 600 messages and two got none.
 */
export class WakeHub {
  /** Hubs of the databases that are open in this process. */
  static readonly #shared = new Map<string, { readonly hub: WakeHub; users: number }>()
  /** In the order in which they are woken. */
  readonly #wakers = new Set<Waker>()

  /**
   * All instances on one database share a hub; otherwise the one that publishes would always poll before the others.
   */
  static join(database: string): { readonly hub: WakeHub; leave(): void } {
    const shared = WakeHub.#shared.get(database) ?? { hub: new WakeHub(), users: 0 }
    WakeHub.#shared.set(database, shared)
    shared.users++
    return { hub: shared.hub, leave: () => --shared.users === 0 && WakeHub.#shared.delete(database) }
  }

  wake(topicId: number | null): void {
    // A copy: a waiter that resumes at once would change the order during the loop.
    for (const waker of [...this.#wakers]) if (topicId === null || waker.topicId === topicId) waker.wake()
  }

  waker(topicId: number): Waker {
    const waker: Waker = new Waker(topicId, {
      dispose: () => this.#wakers.delete(waker),
      served: () => this.#wakers.delete(waker) && this.#wakers.add(waker),
    })
    this.#wakers.add(waker)
    return waker
  }
}

type Hub = { readonly dispose: () => void; readonly served: () => void }

export class Waker {
  readonly topicId: number
  readonly #hub: Hub
  #count = 0
  #resume: (() => void) | undefined

  constructor(topicId: number, hub: Hub) {
    this.topicId = topicId
    this.#hub = hub
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

  /** It has received something: the others of its topic come first next time. */
  served(): void {
    this.#hub.served()
  }

  dispose(): void {
    this.#hub.dispose()
    this.wake()
  }
}
