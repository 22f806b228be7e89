import type { Mutant } from './mutant.ts'
import { type FileRun, type Limits, runFile } from './run-tests.ts'

/** `npm test` ends a test that takes this long. */
const LONGEST_MS = 240_000

type Filter = Pick<Mutant, 'only' | 'sqliteOnly'>

/** How test files end without any mutant; the first of each that passes is kept, also in the file of the results. */
export class Baseline {
  readonly #root: string
  readonly #kept: Map<string, FileRun>
  readonly #running = new Map<string, Promise<FileRun>>()

  constructor(root: string, kept: Readonly<Record<string, FileRun>>) {
    this.#root = root
    this.#kept = new Map(Object.entries(kept))
  }

  get kept(): Record<string, FileRun> {
    return Object.fromEntries(this.#kept)
  }

  async first(file: string, filter: Filter): Promise<FileRun> {
    const key = JSON.stringify([file, filter.only, filter.sqliteOnly])
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const running = this.#running.get(key) ?? this.now(file, filter, { silenceMs: LONGEST_MS })
    this.#running.set(key, running)
    const run = await running
    this.#running.delete(key)
    // What failed may have failed by chance, and may pass before the next mutant.
    if (run.failure === undefined) this.#kept.set(key, run)
    return run
  }

  /** As the machine is now. */
  async now(file: string, filter: Filter, limits: Limits): Promise<FileRun> {
    return await runFile(this.#root, file, filter, limits)
  }
}
