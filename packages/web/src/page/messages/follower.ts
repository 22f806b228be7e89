import type { StoredMessage } from './stored-message.ts'

const KEPT = 500

export type Followed = {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[]
  /** How many have come since somebody scrolled up. */
  readonly waiting: number
}

/** The newest messages of a tail. While somebody reads further up, what is shown stands still and new ones are counted. */
export class Follower {
  isFollowing = true
  #shown: readonly StoredMessage[]
  #waiting: StoredMessage[] = []
  #count = 0
  #isTold = false

  constructor(start: readonly StoredMessage[] = []) {
    this.#shown = start
  }

  get lastId(): number | undefined {
    return (this.#waiting.at(-1) ?? this.#shown.at(-1))?.id
  }

  get now(): Followed {
    return { messages: this.#shown, waiting: this.#count }
  }

  /** True where somebody has to be told: once until it is taken. */
  add(message: StoredMessage): boolean {
    this.#waiting.push(message)
    this.#count++
    // More than are ever shown are not kept: only their number is.
    if (this.#waiting.length > KEPT) this.#waiting.shift()
    if (this.#isTold) return false
    this.#isTold = true
    return true
  }

  take(): Followed {
    this.#isTold = false
    if (this.isFollowing) {
      this.#shown = [...this.#shown, ...this.#waiting].slice(-KEPT)
      this.#waiting = []
      this.#count = 0
    }
    return this.now
  }
}
