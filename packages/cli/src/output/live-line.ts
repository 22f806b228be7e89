import type { TextStream } from './text-stream.ts'
import { visible } from './visible.ts'

const ERASE_LINE = '\r\u001b[2K'
const EVERY_MS = 200

/** A status line on standard error that is redrawn on a terminal; nothing is printed elsewhere. */
export class LiveLine {
  readonly #stream: TextStream
  readonly #isWanted: boolean
  #drawnAt = Number.NEGATIVE_INFINITY

  constructor(stream: TextStream, isWanted: boolean) {
    this.#stream = stream
    this.#isWanted = isWanted
  }

  /** `text` is called only when it is drawn, a few times a second. */
  draw(text: () => string): void {
    if (!this.#isWanted || performance.now() - this.#drawnAt < EVERY_MS) return
    this.#drawnAt = performance.now()
    this.#stream.write(`${ERASE_LINE}${visible(text())}`)
  }

  clear(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#stream.write(ERASE_LINE)
  }

  /** For work without known progress: shows the elapsed time. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const started = performance.now()
    const draw = (): void => this.draw(() => `${what}  ${Math.floor((performance.now() - started) / 1_000)} s`)
    draw()
    const timer = setInterval(draw, EVERY_MS)
    try {
      return await work
    } finally {
      clearInterval(timer)
      this.clear()
    }
  }
}
