export type Deadline = { readonly at: number; readonly missed: () => void }

const LONGEST_TIMER_MS = 0x7fff_ffff

/**
 * The deadlines of everything that a connection has not answered yet, on one timer. It stays as it is when an answer comes:
 * a timer for each statement would cost a publish a twentieth of its time.
 */
export class AnswerDeadlines {
  readonly #awaited = new Set<Deadline>()
  #timer: NodeJS.Timeout | undefined
  #dueAt = Number.POSITIVE_INFINITY

  /** `missed` is called unless it ends before. */
  begin(now: number, limitMs: number, missed: () => void): Deadline {
    const deadline = { at: now + Math.min(limitMs, LONGEST_TIMER_MS), missed }
    this.#awaited.add(deadline)
    if (deadline.at < this.#dueAt) this.#setTimer(deadline.at, now)
    return deadline
  }

  end(deadline: Deadline): void {
    this.#awaited.delete(deadline)
  }

  /** Forgets all of them. */
  clear(): void {
    this.#awaited.clear()
    clearTimeout(this.#timer)
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  #setTimer(at: number, now: number): void {
    clearTimeout(this.#timer)
    this.#dueAt = at
    this.#timer = setTimeout(() => this.#check(), Math.ceil(at - now))
  }

  #check(): void {
    this.#dueAt = Number.POSITIVE_INFINITY
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    // The first first: a busy process may look late.
    for (const deadline of [...this.#awaited].sort((a, b) => a.at - b.at)) {
      if (deadline.at > now) next = Math.min(next, deadline.at)
      else if (this.#awaited.delete(deadline)) deadline.missed()
    }
    if (next < this.#dueAt && this.#awaited.size > 0) this.#setTimer(next, now)
  }
}
