import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../../../testing/folders.ts'
import type { Script } from '../../../../testing/processes.ts'
import { openUmask, sharedWithOthers } from '../../../../testing/rights.ts'
import { until } from '../../../../testing/until.ts'
import { FileSystemStorage } from '../../src/index.ts'
// Inside: the saved state, which only the next start reads.
import { RunFolder } from '../../src/services/simulation/run-folder.ts'
// Inside: up to which tick the storage is whole, which no command prints.
import { StoredRanges } from '../../src/services/stored-ranges.ts'
import { batchesCover, expectedRows, MAIN, openRun, simulationOption, startProcess, tickRows } from './world.ts'

async function runOf(script: Script): Promise<string> {
  return (await script.waitForLine(/^run /)).slice('run '.length)
}

async function endsWell(script: Script): Promise<string> {
  assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
  return await runOf(script)
}

async function storedUpTo(folder: string, runId: string): Promise<number> {
  const storage = await FileSystemStorage.open({ root: join(folder, 'storage') })
  return (await StoredRanges.of(storage, runId, 1)).wholeUpTo
}

describe('npm start', () => {
  it('is this program', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
    assert.match(scripts.start, / packages\/cli\/src\/main\.ts start$/)
  })

  it('--ticks: ends by itself with everything indexed, continues at the next start, and --new begins another run', async () => {
    using folder = temporaryFolder()
    using _ = openUmask()
    await using first = startProcess(folder.path, ['--ticks', '300'])
    const runId = await endsWell(first)
    assert.match(first.lines.at(-1) ?? '', /^indexed so far: 301 ticks in \d+ batches/)

    await using second = startProcess(folder.path, ['--ticks', '300'])
    assert.equal(await endsWell(second), runId)
    {
      await using database = await openRun(folder.path, runId)
      assert.deepEqual(await tickRows(database), expectedRows(600))
      assert.deepEqual(await batchesCover(database), { from: 0, to: 600, isWhole: true })
    }

    await using third = startProcess(folder.path, ['--ticks', '10', '--new'])
    assert.notEqual(await endsWell(third), runId)
    assert.match(third.lines.at(-1) ?? '', /^indexed so far: 11 ticks/)
    // Topics, batches, indexes, saved states, locks: all of it is private.
    assert.deepEqual(sharedWithOthers(folder.path), [])
  })

  it('shows how far it is indexed, whichever indexers it has', async () => {
    using folder = temporaryFolder()
    await using script = startProcess(folder.path, ['--ticks', '60', '--json'], {
      TIDEMARK_PIPELINE__SERVICES__DUMMY_INDEXER__ENABLED: 'false',
    })
    assert.deepEqual(await script.exited, { code: 0, signal: null }, script.errorLines.join('\n'))
    const events = script.lines.map(line => JSON.parse(line))
    const { indexedTicks, indexedBatches, storedBatches } = events.findLast(({ event }) => event === 'progress')
    assert.deepEqual([indexedTicks, indexedBatches], [61, storedBatches])
    const { ticks, batches, cells } = events.at(-1)
    assert.deepEqual([ticks, batches, cells], [61, storedBatches, null])
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`${signal} stops it with the last ticks stored, and with 0`, async () => {
      using folder = temporaryFolder()
      await using script = startProcess(folder.path, [], {
        ...simulationOption('TICKS_PER_SECOND', 200),
        // Nothing but the stop writes a batch after the first.
        TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__BATCH_TIMEOUT: '10m',
      })
      const runId = await runOf(script)
      await until(async () => (await storedUpTo(folder.path, runId)) > 0, { what: 'a batch' })
      script.kill(signal)
      assert.equal(await endsWell(script), runId)
      const run = await RunFolder.open(join(folder.path, 'simulation'), runId)
      const [last] = (await run?.states()) ?? []
      assert.ok(last && last.tick > 0)
      assert.equal(await storedUpTo(folder.path, runId), last.isOpen ? last.tick - 1 : last.tick)
    })
  }

  it('refuses a folder that another process uses, with the reason, and takes it over from a killed one', async () => {
    using folder = temporaryFolder()
    const slow = simulationOption('TICKS_PER_SECOND', 100)
    await using first = startProcess(folder.path, [], slow)
    const runId = await runOf(first)
    for (const args of [[], ['--new'], ['--ticks', '5']]) {
      await using second = startProcess(folder.path, args)
      assert.equal((await second.exited).code, 1)
      assert.match(second.errorLines.join('\n'), /is in use by another process/)
    }
    const before = await storedUpTo(folder.path, runId)
    await until(async () => (await storedUpTo(folder.path, runId)) > before, { what: 'the first to go on' })
    first.kill('SIGKILL')
    await first.exited
    await using third = startProcess(folder.path, ['--ticks', '5'])
    assert.equal(await endsWell(third), runId)
  })

  it("exits with 1 and the reason if its simulation can't start", async () => {
    using folder = temporaryFolder()
    await using script = startProcess(
      folder.path,
      [],
      simulationOption('RESUME', '20200101-00000000-00000000-0000-4000-8000-000000000001'),
    )
    assert.equal((await script.exited).code, 1)
    assert.match(script.errorLines.join('\n'), /There is no run 20200101-/)
  })

  it('restarts itself with other allocator settings, unnoticed', () => {
    const main = fileURLToPath(MAIN)
    const run = (nodeFlags: readonly string[]) =>
      spawnSync(process.execPath, ['--conditions=tidemark-source', ...nodeFlags, main, 'start', '--help'], {
        encoding: 'utf8',
      })
    const settings = "data:text/javascript,console.log('MALLOC_ARENA_MAX', process.env.MALLOC_ARENA_MAX)"
    const { status, stdout, stderr } = run(['--import', settings])
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /tidemark start --ticks 300/)
    const begun = [...stdout.matchAll(/^MALLOC_ARENA_MAX (.*)$/gm)].map(([, value]) => value)
    assert.deepEqual(begun, process.platform === 'linux' ? ['undefined', '1'] : ['undefined'])
  })

  it('lists its options', async () => {
    using folder = temporaryFolder()
    await using help = startProcess(folder.path, ['--help'])
    assert.equal((await help.exited).code, 0)
    assert.match(help.lines.join('\n'), /tidemark start --ticks 300/)
    for (const [args, problem] of [
      [['--ticks', 'soon'], /--ticks must be a whole number of at least 1, not 'soon'/],
      [['--tick', '5'], /--tick/],
    ] as const) {
      await using wrong = startProcess(folder.path, args)
      assert.equal((await wrong.exited).code, 2)
      assert.match(wrong.errorLines.join('\n'), problem)
    }
  })
})

describe('an index that is unavailable from the start', () => {
  it('leaves stored batches waiting, and reports it', async () => {
    using folder = temporaryFolder()
    const index = join(folder.path, 'index')
    // A file where the folder of the indexes should be.
    writeFileSync(index, '')
    await using started = startProcess(folder.path, ['--ticks', '300'])
    const isSaid = () => started.lines.some(line => /[1-9]\d* batches stored, 0 indexed, [1-9]\d* waiting/.test(line))
    await until(isSaid, { what: 'batches that wait', timeout: 60_000 })
    rmSync(index)
    assert.equal((await started.exited).code, 0)
    assert.match(started.lines.at(-1) ?? '', /indexed so far: 301 ticks/)
  })
})
