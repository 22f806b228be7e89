/** Where the time of an answer was spent, for the Server-Timing header. */
export class Timing {
  readonly #started = performance.now()
  readonly #parts: string[] = []
  #last = this.#started

  /** Ends a step that began at the last mark. */
  mark(name: string): void {
    const now = performance.now()
    this.#parts.push(`${name};dur=${(now - this.#last).toFixed(3)}`)
    this.#last = now
  }

  header(): string {
    return [...this.#parts, `total;dur=${(performance.now() - this.#started).toFixed(3)}`].join(', ')
  }
}
