import assert from 'node:assert/strict'
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { batchOf, FileSystemStorage, openIndex } from '@tidemark/pipeline'
import { freshDatabase, temporaryFolder } from '../../../testing/databases.ts'
import { RUN_ID } from '../../pipeline/test/arbitraries.ts'
import { range, ticksOf } from '../../pipeline/test/storage/ticks.ts'
import { EXIT } from '../src/exit-codes.ts'
import { tidemark, tidemarkJson } from './command.ts'

async function storedRun(folder: string): Promise<string> {
  const storage = await FileSystemStorage.open({ root: join(folder, 'storage') })
  await storage.writeBatch(batchOf(ticksOf(range(0, 10))))
  const { storageKey } = await storage.writeBatch(batchOf(ticksOf(range(10, 5))))
  await storage.writeMetadata({
    runId: RUN_ID,
    startedAt: 1_760_000_000_000,
    seed: 'seed',
    samplingInterval: 1,
    environment: { shape: [100, 50], topology: 'torus' },
    settings: '{}',
    moleculeTypes: ['energy'],
  })
  return join(folder, 'storage', storageKey)
}

describe('runs', () => {
  it('are listed with what is stored and indexed', async () => {
    using folder = temporaryFolder()
    await storedRun(folder.path)
    await (await openIndex(`sqlite:${folder.path}/index`, RUN_ID)).close()
    const [run] = await tidemarkJson<object[]>(['runs', '--data', folder.path])
    assert.deepEqual(run, {
      runId: RUN_ID,
      startedAt: '2025-10-09T08:53:20.000Z',
      shape: [100, 50],
      batches: 2,
      firstTick: 0,
      lastTick: 14,
      quarantined: 0,
      indexed: true,
    })
    assert.match((await tidemark(['runs', '--data', folder.path])).out, /100 × 50 +2 +0 to 14 +0 +yes/)
    assert.deepEqual(await tidemarkJson(['runs', 'list', '--data', folder.path]), [run])
    const missing = await tidemark(['runs', '--data', join(folder.path, 'none')])
    assert.equal(missing.code, EXIT.failed)
    assert.match(missing.err, /Give the data folder with --data/)
  })
})

describe('inspect', () => {
  it('shows a file in any folder, and a tick of it or of its run', async () => {
    using folder = temporaryFolder()
    const path = await storedRun(folder.path)
    const copy = join(folder.path, 'a copy')
    copyFileSync(path, copy)
    const file = await tidemarkJson<Record<string, unknown>>(['inspect', copy])
    assert.equal(file.tickCount, 5)
    assert.equal(file.verified, true)
    assert.match((await tidemark(['inspect', path, '12'])).out, /cells +2 occupied\nby type +1: 1, 2: 1\norganisms +1/)
    const tick = await tidemarkJson<{ tick: number; cells: { moleculeValue: number[] } }>([
      'inspect',
      RUN_ID,
      '12',
      '--data',
      folder.path,
    ])
    assert.equal(tick.tick, 12)
    assert.deepEqual(tick.cells.moleculeValue, [-7, 12])
    for (const args of [
      [path, '3'],
      [RUN_ID, '99', '--data', folder.path],
      [join(folder.path, 'none')],
      [folder.path],
    ]) {
      const { code, err } = await tidemark(['inspect', ...args])
      assert.equal(code, EXIT.failed)
      assert.doesNotMatch(err, /should not happen/)
    }
  })

  it('exits with 3 if the file is corrupt', async () => {
    using folder = temporaryFolder()
    const path = await storedRun(folder.path)
    const bytes = readFileSync(path)
    bytes[40] = (bytes[40] ?? 0) ^ 1
    writeFileSync(path, bytes)
    const { code, out, err } = await tidemark(['inspect', path])
    assert.equal(code, EXIT.found)
    assert.equal(out, '')
    assert.match(err, /was modified/)
  })
})

describe('migrate --index', () => {
  it('shows the versions of the indexes, and refuses a newer one', async () => {
    using folder = temporaryFolder()
    await using server = await freshDatabase()
    const newer = {
      [`sqlite:${folder.path}/index`]: async () => {
        const [file = ''] = globSync(`${folder.path}/index/*.db`)
        using db = new DatabaseSync(file)
        db.exec('insert into index_migration values (99, 0)')
      },
      [server.url]: async () => {
        await using index = await openIndex(server.url, RUN_ID)
        await index.transaction(tx => tx.run('insert into run.index_migration values (99, 0)'))
      },
    }
    for (const [address, makeNewer] of Object.entries(newer)) {
      await (await openIndex(address, RUN_ID)).close()
      const { versions } = await tidemarkJson<{ versions: { found: number; newest: number }[] }>([
        'migrate',
        '--index',
        address,
      ])
      assert.equal(versions.length, 1)
      assert.equal(versions[0]?.found, versions[0]?.newest)
      await makeNewer()
      assert.equal((await tidemark(['migrate', '--index', address, '--check'])).code, EXIT.found)
      const { code, err } = await tidemark(['migrate', '--index', address])
      assert.equal(code, EXIT.failed)
      assert.match(err, /newer version/)
    }
  })
})
