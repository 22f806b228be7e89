import { describe } from 'node:test'
import fc from 'fast-check'
import type { ConformanceStores } from '../conformance-store.ts'
import { it } from '../it.ts'
import { scenario } from './commands.ts'
import { runScenario } from './run-scenario.ts'
import { runsOf } from './runs.ts'
import { TestStore } from './test-store.ts'

export function commandModel({ shared }: ConformanceStores): void {
  if (shared.length === 0) return
  describe(`any commands, on ${shared.map(({ name }) => name).join(' and ')}`, () => {
    it('match the model, and leave no message unfinished', async t => {
      await using opened = new AsyncDisposableStack()
      const stores: TestStore[] = []
      for (const each of shared) stores.push(opened.use(await TestStore.create(each)))
      const started = performance.now()
      let runs = 0
      let commands = 0
      await fc.assert(
        fc.asyncProperty(scenario, async each => {
          commands += await runScenario(stores, `topic-${++runs}`, each)
        }),
        runsOf({ runs: 10, longestSeconds: 120 }),
      )
      const seconds = (performance.now() - started) / 1_000
      t.diagnostic(`${runs} runs, ${commands} commands on each store, ${Math.round(commands / seconds)} a second`)
    })
  })
}
