/** For the scripts: reports to the process that started them, and ends when it is told to, or when that process is gone. */
const REPORT_MS = 250

export type Command = { readonly stop?: true; readonly perSecond?: number; readonly isOpen?: boolean }

export function reportTo(report: () => object, onCommand: (command: Command) => void): () => void {
  // Ctrl-C reaches every process of the terminal; the checkpoint decides in which order they end.
  process.on('SIGINT', () => {})
  process.on('message', message => onCommand(message as Command))
  process.on('disconnect', () => process.exit())
  const timer = setInterval(() => process.send?.(report()), REPORT_MS)
  return () => {
    clearInterval(timer)
    if (process.connected) process.send?.(report())
  }
}

/** A sample of what happened since the last report. */
export class Sample {
  readonly #most: number
  #values: number[] = []
  #seen = 0

  constructor(most = 400) {
    this.#most = most
  }

  add(value: number): void {
    this.#seen++
    if (this.#values.length < this.#most) this.#values.push(value)
    // Each value of the interval has the same chance to stay.
    else if (Math.random() * this.#seen < this.#most) this.#values[Math.floor(Math.random() * this.#most)] = value
  }

  take(): number[] {
    const values = this.#values
    this.#values = []
    this.#seen = 0
    return values
  }
}
