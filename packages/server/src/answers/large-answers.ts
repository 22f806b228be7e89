import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UnsentAnswersError } from '../errors.ts'

/** An answer from this size on counts. */
const LARGE = 1024 ** 2
const SMALL = LARGE / 4

/** Made at the same time. More than one, so that one that waits for the database does not keep all the others waiting. */
const AT_ONCE = 4

/**
 * Pages of messages are made a few at a time: ten at once took ten times the memory, and held everybody else up for over a
 * second. And what slow readers have not taken yet of large answers is bounded for all of them together.
 */
export class LargeAnswers {
  readonly #maxUnsent: number
  #unsent = 0
  #making = 0
  readonly #waiting: (() => void)[] = []
  readonly #admitted = new WeakSet<ServerResponse>()

  constructor(maxUnsent: number) {
    this.#maxUnsent = maxUnsent
  }

  /** Waits for those that were asked for before, and lets others have a turn in between. */
  async inTurn<T>(make: () => T | Promise<T>): Promise<T> {
    if (this.#making === AT_ONCE) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#making++
    try {
      await nextTurn()
      return await make()
    } finally {
      // Whoever is next has the place; nobody can come in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#making--
      else next()
    }
  }

  /**
   * For an answer that must not be refused any more, such as messages that are claimed: as many bytes of it as there is room for
   * now, and few where there is none.
   */
  admit(raw: ServerResponse, bytes: number): number {
    this.#admitted.add(raw)
    return Math.min(bytes, Math.max(SMALL, this.#maxUnsent - this.#unsent - LARGE))
  }

  /** Counts until the reader has it, or is gone. Throws where too much waits already. */
  send(payload: unknown, raw: ServerResponse): void {
    if (!(payload instanceof Uint8Array) || payload.length < LARGE) return
    const { length } = payload
    if (this.#unsent + length > this.#maxUnsent && !this.#admitted.has(raw))
      throw new UnsentAnswersError(this.#maxUnsent)
    this.#unsent += length
    raw.once('close', () => {
      this.#unsent -= length
    })
  }
}
