import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ENGINES } from '../../engines.ts'
import { scenario } from './commands.ts'
import { runScenario, type Subject } from './run-scenario.ts'

const { TIDEMARK_TEST_RUNS, TIDEMARK_TEST_SECONDS, TIDEMARK_TEST_SEED } = process.env
const DEFAULT_RUNS = 20
const LONGEST_SECONDS = 60

describe('any arrivals, claims, completions, failures, crashes and waits, on every engine', () => {
  it('match the model: each batch completed once, no gap hidden, nothing stuck', async t => {
    await using stack = new AsyncDisposableStack()
    const subjects: Subject[] = []
    for (const { name, fresh } of ENGINES) {
      const place = stack.use(await fresh())
      subjects.push({ name, database: await place.open() })
    }
    let runs = 0
    let commands = 0
    await fc.assert(
      fc.asyncProperty(scenario, async each => {
        commands += await runScenario(subjects, `indexer-${++runs}`, each)
      }),
      {
        numRuns: Number(TIDEMARK_TEST_RUNS || (TIDEMARK_TEST_SECONDS ? Number.MAX_SAFE_INTEGER : DEFAULT_RUNS)),
        // Bounds the search for a smaller counterexample too.
        interruptAfterTimeLimit: Number(TIDEMARK_TEST_SECONDS || LONGEST_SECONDS) * 1_000,
        ...(TIDEMARK_TEST_SEED && { seed: Number(TIDEMARK_TEST_SEED) }),
      },
    )
    t.diagnostic(`${runs} runs, ${commands} commands on each engine`)
  })
})
