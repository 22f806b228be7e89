/** How far a checkpoint is: a bar on a terminal, a plain line per phase elsewhere. */
import { progressBar } from '../../../packages/cli/src/output/progress-bar.ts'

const REDRAW_MS = 200
/** Without a terminal, a long phase says now and then that it still runs. */
const REPEAT_MS = 30_000
const ERASE_LINE = '\r\u001b[2K'

export type ProgressOutput = { readonly isTTY?: boolean; write(text: string): unknown }

export class Progress implements Disposable {
  readonly #output: ProgressOutput
  readonly #expectedMs: number
  readonly #started = performance.now()
  readonly #timer: NodeJS.Timeout
  #phase = 'starting'

  constructor(expectedSeconds: number, output: ProgressOutput = process.stderr) {
    this.#output = output
    this.#expectedMs = expectedSeconds * 1_000
    const isTerminal = output.isTTY === true
    this.#timer = setInterval(() => (isTerminal ? this.#draw() : this.#writeLine()), isTerminal ? REDRAW_MS : REPEAT_MS)
    this.#timer.unref()
  }

  phase(text: string): void {
    this.#phase = text
    if (this.#output.isTTY) this.#draw()
    else this.#writeLine()
  }

  /** By time, since every checkpoint has a given length; it stays below 100 % until the verdict. */
  get #share(): number {
    return Math.min(0.99, (performance.now() - this.#started) / this.#expectedMs)
  }

  get #seconds(): string {
    return `${((performance.now() - this.#started) / 1_000).toFixed(0)} s`
  }

  #draw(): void {
    this.#output.write(`${ERASE_LINE}${progressBar(this.#share)}  ${this.#seconds}  ${this.#phase}`)
  }

  #writeLine(): void {
    this.#output.write(
      `${this.#seconds.padStart(6)}  ${String(Math.floor(this.#share * 100)).padStart(3)} %  ${this.#phase}\n`,
    )
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    if (this.#output.isTTY) this.#output.write(ERASE_LINE)
  }
}
