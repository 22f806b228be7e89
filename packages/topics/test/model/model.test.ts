import { describe, it } from 'node:test'
import fc from 'fast-check'
import { scenario } from './commands.ts'
import { runScenario } from './run-scenario.ts'
import { postgresTestStore, sqliteTestStore } from './test-store.ts'

const { TIDEMARK_TEST_RUNS, TIDEMARK_TEST_SECONDS, TIDEMARK_TEST_SEED } = process.env
const DEFAULT_RUNS = 25
const LONGEST_SECONDS = 120

describe('any commands, on every store', () => {
  it('give what the model says, and leave no message without its end', async t => {
    await using sqlite = await sqliteTestStore()
    await using postgres = await postgresTestStore()
    const started = performance.now()
    let runs = 0
    let commands = 0
    await fc.assert(
      fc.asyncProperty(scenario, async each => {
        commands += await runScenario([sqlite, postgres], `topic-${++runs}`, each)
      }),
      {
        numRuns: Number(TIDEMARK_TEST_RUNS || (TIDEMARK_TEST_SECONDS ? Number.MAX_SAFE_INTEGER : DEFAULT_RUNS)),
        // Bounds the search for a smaller counterexample too.
        interruptAfterTimeLimit: Number(TIDEMARK_TEST_SECONDS || LONGEST_SECONDS) * 1_000,
        ...(TIDEMARK_TEST_SEED && { seed: Number(TIDEMARK_TEST_SEED) }),
      },
    )
    const seconds = (performance.now() - started) / 1_000
    t.diagnostic(`${runs} runs, ${commands} commands on each store, ${Math.round(commands / seconds)} a second`)
  })
})
