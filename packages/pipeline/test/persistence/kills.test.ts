import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { isLong } from '../../../../testing/long.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { range } from '../storage/ticks.ts'
import { Workbench } from './workbench.ts'

const TICKS = 700
const KILLS = isLong ? 6 : 3

describe('persistence killed at any moment, again and again', () => {
  it('ends with every tick stored once, in ranges that do not overlap, each file announced once', async t => {
    const random = new SeededRandom()
    t.diagnostic(`TIDEMARK_TEST_SEED=${random.seed}`)
    const folder = temporaryFolder()
    for (let kill = 0; kill <= KILLS; kill++) {
      // Other batches each time, so that what is sent again does not fit what is there.
      const args = [folder.path, `${TICKS}`, `${5 + kill}`]
      await using script = spawnScript(join(import.meta.dirname, 'scripts/replay.ts'), args)
      if (kill === KILLS) {
        await script.waitForLine('done', 60_000)
        continue
      }
      await script.waitForLine(`sent ${(kill + 1) * 100}`)
      // Not to wait for anything: the moment is what is to differ.
      await delay(random.next() * 10)
      script.kill('SIGKILL')
      await script.exited
    }
    await using bench = await Workbench.at(folder)
    assert.deepEqual(await bench.ticks(), range(0, TICKS))
    const ranges = await bench.ranges()
    for (const [slot, [start]] of ranges.entries()) assert.ok(slot === 0 || start > (ranges[slot - 1]?.[1] ?? 0))
    const announced = (await bench.announced()).map(({ storageKey }) => storageKey)
    assert.equal(new Set(announced).size, announced.length)
    const { items } = await bench.storage.listBatches({ prefix: `${announced[0]?.split('/')[0]}/` })
    assert.deepEqual(
      announced.toSorted(),
      items.map(({ key }) => key),
    )
    assert.equal(await bench.deadLetters.count(), 0)
  })
})
