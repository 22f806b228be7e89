import assert from 'node:assert/strict'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { BATCH_TOPIC, batchOf, makeRunId, metadataKey, type SimulationMetadata, topicOfRun } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { metric, Workbench, withMethods } from './workbench.ts'

const metadataOf = (runId: string): SimulationMetadata => ({
  runId,
  startedAt: 1_760_000_000_000,
  seed: '42',
  samplingInterval: 1,
  environment: { shape: [100, 100], topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['energy'],
})

const TOPIC = topicOfRun(BATCH_TOPIC, RUN_ID)

async function storeBatches(bench: Workbench, count: number, runId = RUN_ID): Promise<string[]> {
  const keys: string[] = []
  for (let batch = 0; batch < count; batch++) {
    const { storageKey } = await bench.storage.writeBatch(batchOf(ticksOf(range(batch * 10, 10), { runId })))
    keys.push(storageKey)
  }
  return keys
}

describe('a service killed between file and notification', () => {
  for (const announcedBefore of [0, 4]) {
    it(`has its file announced by the reconciler, after ${announcedBefore} of its own`, async () => {
      const folder = temporaryFolder()
      await using script = spawnScript(join(import.meta.dirname, 'scripts/store-and-die.ts'), [
        folder.path,
        `${announcedBefore}`,
      ])
      const { signal } = await script.exited
      assert.equal(signal, 'SIGKILL', script.errorLines.join('\n'))
      await using bench = await Workbench.at(folder)
      assert.equal((await bench.ranges()).length, announcedBefore + 1)
      assert.equal((await bench.announced()).length, announcedBefore)
      const reconciler = bench.reconciler()
      await reconciler.start()
      await metric(reconciler, 'looks', 2)
      const starts = (await bench.announced()).map(({ tickStart }) => tickStart)
      assert.deepEqual(starts, range(0, announcedBefore + 1, 10))
      assert.equal(reconciler.status().metrics.announced, 1)
      const last = (await bench.announced()).at(-1)
      assert.equal(last?.tickCount, 10)
      assert.equal(last?.runId, RUN_ID)
    })
  }
})

describe('announcements', () => {
  it('is not announced again, by any number of reconcilers', async () => {
    await using bench = await Workbench.open()
    await storeBatches(bench, 25)
    const reconcilers = [bench.reconciler({ interval: '10ms', pageSize: 7 }), bench.reconciler({ interval: '10ms' })]
    await Promise.all(reconcilers.map(reconciler => reconciler.start()))
    for (const reconciler of reconcilers) await metric(reconciler, 'looks', 3)
    for (const reconciler of reconcilers) await reconciler.stop()
    const late = bench.reconciler()
    await late.start()
    await metric(late, 'looks', 2)
    assert.equal(late.status().metrics.announced, 0)
    assert.equal((await bench.announced()).length, 25)
  })

  it('is kept at any age: neither retention nor groups remove an announcement', async () => {
    await using bench = await Workbench.open()
    await storeBatches(bench, 3)
    const settings = { semantics: 'pub-sub', lease: 0, retention: 1, maxRetention: 1 } as const
    await bench.topics.configureTopic(TOPIC, settings)
    const first = bench.reconciler()
    await first.start()
    await metric(first, 'announced', 3)
    await first.stop()
    const { removed } = await bench.topics.admin.jobs.messages.runOnce()
    assert.equal(removed, 0)
    assert.equal((await bench.announced()).length, 3)
  })

  it('is not read again', async () => {
    await using bench = await Workbench.open()
    const [key = ''] = await storeBatches(bench, 3)
    const first = bench.reconciler()
    await first.start()
    await metric(first, 'announced', 3)
    await first.stop()
    // Were it read, it would be found corrupt.
    truncateSync(join(bench.folder.path, 'storage', key), 20)
    const second = bench.reconciler()
    await second.start()
    await metric(second, 'looks', 3)
    assert.deepEqual(second.status().metrics, {
      looks: second.status().metrics.looks,
      announced: 0,
      quarantined: 0,
      failures: 0,
    })
  })

  it('by a persistence service meanwhile is announced once', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 3 })
    const reconciler = bench.reconciler({ interval: '1ms' })
    await service.start()
    await reconciler.start()
    await bench.put(ticksOf(range(0, 300)))
    await metric(service, 'batchesWritten', 100)
    const looks = reconciler.status().metrics.looks ?? 0
    await metric(reconciler, 'looks', looks + 2)
    await service.stop()
    const keys = (await bench.announced()).map(({ storageKey }) => storageKey)
    assert.equal(keys.length, 100)
    assert.equal(new Set(keys).size, 100)
  })

  it('is remembered over folders of many ticks, and not read again when nothing changes there', async () => {
    await using bench = await Workbench.open()
    const keys: string[] = []
    for (const tick of range(0, 5, 100_000)) {
      keys.push((await bench.storage.writeBatch(batchOf(ticksOf([tick, tick + 5])))).storageKey)
    }
    const reconciler = bench.reconciler({ interval: '5ms' })
    await reconciler.start()
    await metric(reconciler, 'looks', 4)
    assert.equal(reconciler.status().metrics.announced, 5)
    truncateSync(join(bench.folder.path, 'storage', keys[0] ?? ''), 20)
    await metric(reconciler, 'looks', (reconciler.status().metrics.looks ?? 0) + 3)
    assert.equal(reconciler.status().metrics.quarantined, 0)
  })

  it('does not hide a file added to an old folder', async () => {
    await using bench = await Workbench.open()
    for (const tick of range(0, 5, 100_000)) await bench.storage.writeBatch(batchOf(ticksOf([tick, tick + 5])))
    const reconciler = bench.reconciler({ interval: '5ms' })
    await reconciler.start()
    await metric(reconciler, 'looks', 4)
    await bench.storage.writeBatch(batchOf(ticksOf([7, 8])))
    await metric(reconciler, 'announced', 6)
    await metric(reconciler, 'looks', (reconciler.status().metrics.looks ?? 0) + 3)
    assert.equal((await bench.announced()).length, 6)
  })

  it('that fails for a file in an older folder is made with the next scan', async () => {
    await using bench = await Workbench.open()
    const keys: string[] = []
    for (const tick of range(0, 3, 100_000)) {
      keys.push((await bench.storage.writeBatch(batchOf(ticksOf([tick, tick + 5])))).storageKey)
    }
    let failures = 0
    const storage = withMethods(bench.storage, {
      async describeBatch(key) {
        if (key === keys[0] && failures++ === 0) throw new Error('not this time')
        return await bench.storage.describeBatch(key)
      },
    })
    const reconciler = bench.reconciler({ interval: '5ms' }, storage)
    await reconciler.start()
    await metric(reconciler, 'announced', 3)
    assert.deepEqual((await bench.announced()).map(({ storageKey }) => storageKey).sort(), keys)
    assert.equal(reconciler.status().metrics.failures, 1)
  })

  it('is remembered by the topic for ever', async () => {
    await using bench = await Workbench.open()
    await bench.topics.configureTopic(TOPIC, { semantics: 'pub-sub', dedupeWindow: '7d' })
    await storeBatches(bench, 1)
    const reconciler = bench.reconciler()
    await reconciler.start()
    await metric(reconciler, 'announced', 1)
    assert.equal((await bench.topics.configureTopic(TOPIC)).dedupeWindowMs, null)
  })
})

describe('a new set of topics', () => {
  it('is announced everything in the storage, of every run, and their metadata', async () => {
    await using bench = await Workbench.open()
    const runs = [makeRunId(), makeRunId(), makeRunId()]
    for (const runId of runs) {
      await bench.storage.writeMetadata(metadataOf(runId))
      await storeBatches(bench, 3, runId)
    }
    const reconciler = bench.reconciler({ interval: '10ms', pageSize: 2 })
    await reconciler.start()
    await metric(reconciler, 'announced', 12)
    assert.deepEqual((await bench.announcedMetadata()).map(({ runId }) => runId).sort(), runs.toSorted())
    const batches = await bench.announced()
    for (const runId of runs) assert.equal(batches.filter(batch => batch.runId === runId).length, 3)
    assert.deepEqual((await bench.announcedMetadata())[0]?.storageKey, metadataKey(runs.toSorted()[0] ?? '', 'zstd'))
  })
})

describe('a corrupt file', () => {
  it('is quarantined and reported, never announced; the others are', async () => {
    await using bench = await Workbench.open()
    const keys = await storeBatches(bench, 3)
    const path = join(bench.folder.path, 'storage', keys[1] ?? '')
    const bytes = readFileSync(path)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0xff
    writeFileSync(path, bytes)
    await bench.storage.writeMetadata(metadataOf(RUN_ID))
    truncateSync(join(bench.folder.path, 'storage', metadataKey(RUN_ID, 'zstd')), 30)
    const reconciler = bench.reconciler()
    const reported: string[] = []
    reconciler.listen(event => event.type === 'error' && reported.push(event.action))
    await reconciler.start()
    await metric(reconciler, 'looks', 2)
    assert.deepEqual(
      (await bench.announced()).map(({ storageKey }) => storageKey),
      [keys[0], keys[2]],
    )
    assert.deepEqual(await bench.announcedMetadata(), [])
    const quarantined = (await bench.storage.listQuarantined(RUN_ID)).map(({ key }) => key)
    assert.deepEqual(quarantined.sort(), [keys[1], metadataKey(RUN_ID, 'zstd')].sort())
    const { metrics, healthy } = reconciler.status()
    assert.equal(metrics.quarantined, 2)
    assert.ok(reported.includes(`announce ${keys[1]}`))
    assert.equal(healthy, true, 'the second look found nothing wrong')
  })
})

describe('a reconciler', () => {
  it('announces a run again that comes back from a copy, with nothing announced', async () => {
    await using bench = await Workbench.open()
    await storeBatches(bench, 2)
    const reconciler = bench.reconciler()
    await reconciler.start()
    await metric(reconciler, 'announced', 2)
    await bench.storage.removeRun(RUN_ID)
    await bench.topics.admin.deleteTopic(TOPIC)
    await metric(reconciler, 'looks', (reconciler.status().metrics.looks ?? 0) + 2)
    await storeBatches(bench, 2)
    await metric(reconciler, 'announced', 4)
  })

  it('leaves out a file that somebody else has moved away', async () => {
    await using bench = await Workbench.open()
    const [first = ''] = await storeBatches(bench, 2)
    const storage = withMethods(bench.storage, {
      describeBatch: async key => {
        if (key === first) await bench.storage.quarantine(key, 'by somebody else')
        return await bench.storage.describeBatch(key)
      },
    })
    const reconciler = bench.reconciler({ interval: '1h' }, storage)
    await reconciler.start()
    await metric(reconciler, 'looks', 1)
    const { announced, failures, quarantined } = reconciler.status().metrics
    assert.deepEqual([announced, failures, quarantined], [1, 0, 0])
  })

  it('is unhealthy while a file cannot be announced, and ends its scan while the storage does not answer', async () => {
    await using bench = await Workbench.open()
    await storeBatches(bench, 3)
    let away: Error = new Error('odd')
    const storage = withMethods(bench.storage, { describeBatch: () => Promise.reject(away) })
    const odd = bench.reconciler({ interval: '1h' }, storage)
    await odd.start()
    await metric(odd, 'looks', 1)
    assert.deepEqual([odd.status().metrics.failures, odd.status().healthy], [3, false])
    await odd.stop()
    away = Object.assign(new Error('no answer'), { code: 'ECONNREFUSED' })
    const waiting = bench.reconciler({ interval: '1h' }, storage)
    await waiting.start()
    const { waitingFor, metrics } = await until(
      () => {
        const status = waiting.status()
        return (status.waitingFor !== null || status.metrics.failures !== 0) && status
      },
      { what: 'the end of the scan' },
    )
    assert.match(waitingFor ?? '', /no answer/)
    assert.deepEqual([metrics.failures, metrics.looks], [0, 0])
  })

  it('finds new files with its next scan, and starts again after a stop', async () => {
    await using bench = await Workbench.open()
    const reconciler = bench.reconciler()
    await reconciler.start()
    await metric(reconciler, 'looks', 1)
    await storeBatches(bench, 2)
    await metric(reconciler, 'announced', 2)
    await reconciler.stop()
    await reconciler.start()
    await bench.storage.writeBatch(batchOf(ticksOf([500])))
    await metric(reconciler, 'announced', 3)
    assert.equal((await bench.announced()).length, 3)
  })

  it('leaves no group that pins messages', async () => {
    await using bench = await Workbench.open()
    await storeBatches(bench, 1)
    const reconciler = bench.reconciler()
    await reconciler.start()
    await metric(reconciler, 'announced', 1)
    await reconciler.stop()
    assert.deepEqual((await bench.topics.admin.describeTopic(TOPIC)).groups, [])
  })
})
