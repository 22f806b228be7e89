import type { TopicKey } from './nats/names.ts'

export type Turn = {
  /** Resolves when everything that began before has been sent. */
  readonly come: Promise<unknown>
  /** It is sent, or will not be. */
  pass(): void
}

/**
 * Several publishes of a topic are under way at once, over one connection. They are sent in the order in which they began,
 * although one may have to look up messageIds first; the server stores what one connection sends in that order.
 */
export class Turns {
  readonly #last = new Map<TopicKey, Promise<unknown>>()

  take(key: TopicKey): Turn {
    const come = this.#last.get(key) ?? Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const passed: Promise<unknown> = come.then(() => promise)
    this.#last.set(key, passed)
    const forget = (): void => {
      if (this.#last.get(key) === passed) this.#last.delete(key)
    }
    void passed.then(forget)
    return { come, pass: resolve }
  }
}
