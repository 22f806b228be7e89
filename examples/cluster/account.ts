/** What the demonstration tells: lines that stay, and one line of progress that a terminal replaces. */
import { performance } from 'node:perf_hooks'
import type { WriteStream } from 'node:tty'

/** In a log file, how often the progress is worth a line. */
const LINE_MS = 10_000

export class Account {
  readonly #out: NodeJS.WriteStream | WriteStream
  readonly #began = performance.now()
  #hasProgress = false
  #nextLineAt = 0

  constructor(out: NodeJS.WriteStream = process.stdout) {
    this.#out = out
  }

  say(text: string): void {
    this.#clear()
    this.#out.write(`${this.#time()}  ${text}\n`)
  }

  /** Without the time: results and headings. */
  print(...lines: readonly string[]): void {
    this.#clear()
    this.#out.write(`${lines.join('\n')}\n`)
  }

  /** What is being waited for, with how far it is. */
  wait(text: string): void {
    if (this.#out.isTTY) {
      this.#clear()
      this.#out.write(`${this.#time()}  ${text} …`.slice(0, (this.#out.columns ?? 100) - 1))
      this.#hasProgress = true
    } else if (performance.now() >= this.#nextLineAt) {
      this.#nextLineAt = performance.now() + LINE_MS
      this.#out.write(`${this.#time()}  ${text} …\n`)
    }
  }

  #clear(): void {
    if (this.#hasProgress) this.#out.write('\r\u001b[2K')
    this.#hasProgress = false
  }

  #time(): string {
    return `${((performance.now() - this.#began) / 1_000).toFixed(1)} s`.padStart(8)
  }
}
