import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { expectedRows, lastingContents, openRun, RUN_ID, simulationOption, startProcess } from './world.ts'

const LAST_TICK = 300
const KILLS = Number(process.env.TIDEMARK_TEST_RUNS || 6)
/** So slow that the kills spread over the run. */
const SETTINGS = {
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('MAX_TICKS', LAST_TICK),
  ...simulationOption('TICKS_PER_SECOND', 200),
}
const MOST_MS = 500

async function contentsAfterAll(folder: string) {
  await using script = startProcess(folder, [], SETTINGS)
  assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
  await using database = await openRun(folder)
  return await lastingContents(database)
}

/** Some die while they start, most while ticks are at every stage. */
async function killAfter(folder: string, { ms, isStarting }: { ms: number; isStarting: boolean }): Promise<void> {
  await using script = startProcess(folder, [], SETTINGS)
  if (!isStarting) await script.waitForLine(/^run /)
  await delay(ms)
  script.kill('SIGKILL')
  await script.exited
}

describe('the whole pipeline, killed with SIGKILL again and again', () => {
  it('leaves the index of an undisturbed run of the same seed', async t => {
    using undisturbed = temporaryFolder()
    using disturbed = temporaryFolder()
    const seed = Number(process.env.TIDEMARK_TEST_SEED || Math.floor(Math.random() * 0x7fff_ffff))
    t.diagnostic(`TIDEMARK_TEST_SEED=${seed}`)
    const kill = fc.record({ ms: fc.integer({ min: 0, max: MOST_MS }), isStarting: fc.nat(4).map(n => n === 0) })
    const kills = fc.sample(kill, { seed, numRuns: KILLS })
    const [expected] = await Promise.all([
      contentsAfterAll(undisturbed.path),
      (async () => {
        for (const each of kills) await killAfter(disturbed.path, each)
      })(),
    ])
    assert.deepEqual(expected.ticks, expectedRows(LAST_TICK))
    assert.deepEqual(expected.batches, { from: 0, to: LAST_TICK, isWhole: true })
    const { indexes, ...rest } = await contentsAfterAll(disturbed.path)
    const { indexes: expectedIndexes, ...expectedRest } = expected
    assert.deepEqual(rest, expectedRest)
    for (const [table, rows] of Object.entries(expectedIndexes)) {
      assert.ok(rows.length > 0, `${table} is empty`)
      // One by one: what deepEqual shows of a thousand rows of bytes nobody can read.
      for (const [at, row] of rows.entries()) assert.deepEqual(indexes[table]?.[at], row, `row ${at} of ${table}`)
      assert.equal(indexes[table]?.length, rows.length, table)
    }
  })
})
