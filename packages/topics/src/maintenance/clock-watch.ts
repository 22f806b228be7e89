import { ClockError } from '../errors.ts'
import type { Instrumentation } from '../observe/instrumentation.ts'
import type { ClockReading } from '../stores/inspection.ts'
import type { Store } from '../stores/store.ts'

const EVERY_MS = 10_000

/** Compares this process's clock with the database's, if that has none of its own, and reports when they diverge. */
export class ClockWatch {
  readonly #store: Store
  readonly #instrumentation: Instrumentation
  #timer: NodeJS.Timeout | undefined
  #isOff = false

  constructor(store: Store, instrumentation: Instrumentation) {
    this.#store = store
    this.#instrumentation = instrumentation
  }

  start(): void {
    // Real uses of the database report what is wrong with it.
    const look = (): void => void this.look().catch(() => undefined)
    look()
    this.#timer = setInterval(look, EVERY_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Reported once when it begins, and once when it ends. */
  async look(): Promise<ClockReading | null> {
    const reading = await this.#store.inspection.clock()
    if (reading === null) {
      this.stop()
      return null
    }
    const { isOff, offsetMs } = reading
    if (isOff !== this.#isOff) this.#instrumentation.emit(isOff ? 'clock-off' : 'clock-right', { offsetMs })
    this.#isOff = isOff
    return reading
  }

  /** Why nothing may be removed by age now; undefined if it may. */
  async refusal(): Promise<ClockError | undefined> {
    const reading = await this.look()
    if (reading === null || (!reading.isOff && reading.trialMs === 0)) return undefined
    return new ClockError(this.#store.location, reading)
  }
}
