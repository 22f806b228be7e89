import type { Connection } from './connection.ts'
import { requiredRow } from './rows.ts'

/** Interval between checks of the file: short while things happen, longer when idle. A check takes about 3 µs. */
const BUSY_MS = 4
const IDLE_MS = 12
const IDLE_AFTER_MS = 2_000

/** Notices writes by other connections or processes through `pragma data_version`. */
export class DataVersionWatch {
  readonly #connection: Connection
  readonly #changed: () => void
  #timer: NodeJS.Timeout | undefined
  #version: number
  #changedAt = performance.now()

  constructor(connection: Connection, changed: () => void) {
    this.#connection = connection
    this.#changed = changed
    this.#version = this.#tryToRead() ?? 0
    this.#schedule()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(): void {
    const version = this.#tryToRead()
    if (version !== undefined && version !== this.#version) {
      this.#version = version
      this.#changedAt = performance.now()
      this.#changed()
    }
    this.#schedule()
  }

  #schedule(): void {
    const idle = performance.now() - this.#changedAt > IDLE_AFTER_MS
    this.#timer = setTimeout(() => this.#look(), idle ? IDLE_MS : BUSY_MS)
    this.#timer.unref()
  }

  /** A hint that fails now is repeated at the next check; a real use of the database reports what is wrong with it. */
  #tryToRead(): number | undefined {
    try {
      return this.#read()
    } catch {
      return undefined
    }
  }

  #read(): number {
    return requiredRow<{ data_version: number }>(this.#connection.prepare('pragma data_version')).data_version
  }
}
