import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { decodeMetadata, encodeMetadata, makeRunId, metadataKey, type SimulationMetadata } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { metric, Workbench } from './workbench.ts'

const METADATA: SimulationMetadata = {
  runId: RUN_ID,
  startedAt: 1_760_000_000_000,
  seed: '42',
  samplingInterval: 10,
  environment: { shape: [100, 100], topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['energy'],
}

describe('metadata', () => {
  for (const [form, item] of [
    ['as they are', METADATA],
    ['encoded', { bytes: encodeMetadata(METADATA) }],
  ] as const) {
    it(`is stored and announced (${form})`, async () => {
      await using bench = await Workbench.open()
      const service = bench.metadataPersistence()
      await service.start()
      await bench.metadataQueue.put(item)
      await metric(service, 'notificationsSent', 1)
      assert.deepEqual(await bench.storage.readMetadata(RUN_ID), METADATA)
      const [info] = await bench.announcedMetadata()
      assert.equal(info?.storageKey, metadataKey(RUN_ID, 'zstd'))
      assert.equal(info?.runId, RUN_ID)
    })
  }

  it('that arrives twice is stored and announced once', async () => {
    await using bench = await Workbench.open()
    const service = bench.metadataPersistence()
    await service.start()
    await bench.metadataQueue.put(METADATA)
    await bench.metadataQueue.put(METADATA)
    await metric(service, 'metadataWritten', 2)
    await service.stop()
    assert.equal((await bench.announcedMetadata()).length, 1)
  })

  it('waits for a storage that fails temporarily', async () => {
    await using bench = await Workbench.open()
    const path = join(bench.folder.path, 'storage', RUN_ID)
    writeFileSync(path, 'in the way')
    const service = bench.metadataPersistence({ maxRetries: 1_000, initialBackoff: '5ms', maxBackoff: '20ms' })
    await service.start()
    await bench.metadataQueue.put(METADATA)
    await until(() => service.status().errors.length >= 3, { what: 'three failed attempts' })
    rmSync(path)
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.storage.readMetadata(RUN_ID), METADATA)
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('that cannot be stored is dead-lettered, and the next is stored', async () => {
    await using bench = await Workbench.open()
    const service = bench.metadataPersistence()
    await service.start()
    await bench.metadataQueue.put(METADATA)
    await bench.metadataQueue.put({ ...METADATA, seed: 'another' })
    await bench.metadataQueue.put({ bytes: Buffer.from('nonsense') })
    await metric(service, 'deadLetters', 2)
    const [conflict, nonsense] = await bench.deadLetters.list()
    assert.equal(decodeMetadata(conflict?.originalMessage ?? new Uint8Array()).seed, 'another')
    assert.match(conflict?.failureReason ?? '', /ConflictError/)
    assert.match(nonsense?.failureReason ?? '', /ContractError/)
    assert.equal(service.state, 'RUNNING')
    assert.equal((await bench.storage.readMetadata(RUN_ID))?.seed, '42')
  })

  it('in the queue at a stop is stored', async () => {
    await using bench = await Workbench.open()
    const service = bench.metadataPersistence()
    await service.start()
    service.pause()
    const all = [METADATA, { ...METADATA, runId: makeRunId() }, { ...METADATA, runId: makeRunId() }]
    for (const metadata of all) await bench.metadataQueue.put(metadata)
    await service.stop()
    for (const metadata of all) assert.deepEqual(await bench.storage.readMetadata(metadata.runId), metadata)
    assert.equal((await bench.announcedMetadata()).length, 3)
  })
})
