import type { Mutant } from './mutant.ts'
import { runTests } from './run-tests.ts'

/** Whether a test file that failed with a mutant passes without one; each file is run once. */
export class Baseline {
  readonly #root: string
  readonly #timeoutMs: number
  readonly #isWanted: boolean
  readonly #runs = new Map<string, Promise<string | undefined>>()

  constructor(root: string, timeoutMs: number, isWanted: boolean) {
    this.#root = root
    this.#timeoutMs = timeoutMs
    this.#isWanted = isWanted
  }

  /** The first test that fails without any mutant; undefined if all pass. */
  async failure(file: string, { only, sqliteOnly }: Mutant): Promise<string | undefined> {
    if (!this.#isWanted) return undefined
    const key = JSON.stringify([file, only, sqliteOnly])
    const run = this.#runs.get(key) ?? this.#run({ tests: [file], only, sqliteOnly })
    this.#runs.set(key, run)
    return await run
  }

  async #run(options: { tests: string[]; only: string | undefined; sqliteOnly: true | undefined }) {
    const { failure } = await runTests(this.#root, { ...options, timeoutMs: this.#timeoutMs })
    return failure?.test
  }
}
