import assert from 'node:assert/strict'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  batchEnvelope,
  batchOf,
  type DeadLetter,
  dummyIndexer,
  encodeTick,
  FileSystemStorage,
  makeRunId,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
// Inside: an announcement that our own code would never make.
import { BatchInfoSchema } from '../../src/contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { ENGINES } from '../engines.ts'
import { cellsAt, NO_CELLS, tickOf } from '../indexes/ticks.ts'
import { ticksOf } from '../storage/ticks.ts'
import { ackedAre, World } from './world.ts'

for (const engine of ENGINES) {
  describe(`an invalid batch, on ${engine.name}`, () => {
    it('a corrupt batch file is quarantined and dead-lettered, and the service continues', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const letters: DeadLetter[] = []
      const corrupt = await world.write(0, 10)
      truncateSync(join(world.storageRoot, corrupt.storageKey), corrupt.bytes - 5)
      const watched = await world.started({
        insertBatchSize: 10,
        definition: { ...dummyIndexer, components: ['metadata', 'buffering', 'dlq'] },
        deadLetters: async letter => void letters.push(letter),
      })
      await world.announce(corrupt)
      await world.produce(1, 10, 10)
      await ackedAre(watched, 10)
      await until(() => letters.length === 1, { what: 'the dead letter' })
      assert.match(letters[0]?.failureReason ?? '', /CorruptFileError|truncated/)
      const quarantined = await world.storage.listQuarantined(world.runId)
      assert.deepEqual(
        quarantined.map(({ key }) => key),
        [corrupt.storageKey],
      )
      await world.assertIndexed({ batches: 1, ticks: 10 })
      assert.equal(watched.indexer.state, 'RUNNING')
    })

    it('a foreign file is quarantined, an oversized one left; both are dead letters, and the others are indexed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const letters: DeadLetter[] = []
      const foreign = await world.write(0, 10)
      writeFileSync(join(world.storageRoot, foreign.storageKey), 'PK\x03\x04 of another program'.repeat(50))
      const oversized = await world.write(10, 2_000)
      const watched = await world.started({
        storage: await FileSystemStorage.open({ root: world.storageRoot, maxFileBytes: 20_000 }),
        insertBatchSize: 10,
        maxRetries: 1,
        definition: { ...dummyIndexer, components: ['metadata', 'buffering', 'dlq'] },
        deadLetters: async letter => void letters.push(letter),
      })
      await world.announce(foreign)
      await world.announce(oversized)
      await world.produce(1, 10, 2_010)
      await ackedAre(watched, 2_010)
      await until(() => letters.length === 2, { what: 'both dead letters' })
      const reasons = letters.map(({ failureReason }) => failureReason).sort()
      assert.match(reasons[0] ?? '', /^CorruptFileError: .*is not a file of this storage/)
      assert.match(reasons[1] ?? '', /^LimitError: .*20000/)
      const quarantined = await world.storage.listQuarantined(world.runId)
      assert.deepEqual(
        quarantined.map(({ key }) => key),
        [foreign.storageKey],
      )
      assert.equal((await world.storage.describeBatch(oversized.storageKey)).tickCount, 2_000)
      assert.equal(watched.indexer.state, 'RUNNING')
    })

    it('a batch with a cell beyond the world, or with malformed cells, is refused by name, and the others are indexed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const letters: DeadLetter[] = []
      const watched = await world.started({
        insertBatchSize: 30,
        flushTimeout: 50,
        definition: { ...dummyIndexer, components: ['metadata', 'buffering', 'dlq'] },
        deadLetters: async letter => void letters.push(letter),
      })
      const cells = (flat: number) => cellsAt([flat], 0)
      await world.store([tickOf(world.runId, 0, { cells: cells(9_999) })])
      const beyond = await world.store([tickOf(world.runId, 1, { cells: cells(10_000) })])
      await world.store([tickOf(world.runId, 2, { cells: cells(0) })])
      const [good] = ticksOf([3], { runId: world.runId })
      assert.ok(good)
      // Three indexes and two types.
      const broken = Uint8Array.of(0x22, 9, 0x0a, 3, 1, 1, 1, 0x12, 2, 1, 1)
      const bytes = Buffer.concat([encodeTick(tickOf(world.runId, 3, { cells: NO_CELLS })).bytes, broken])
      const malformed = await world.storage.writeBatch(batchOf([{ ...good, bytes }]))
      await world.announce(malformed)
      await until(() => letters.length === 2 && watched.acked.length === 2, { what: 'two letters and two acks' })
      const reasons = letters.map(({ failureReason }) => failureReason).sort()
      const named = (key: string, why: string) => new RegExp(`^BatchRefusedError: Batch ${key} is refused: tick ${why}`)
      assert.match(reasons[0] ?? '', named(beyond.storageKey, '1: .*flat_index of cell 0 is 10000, beyond the world'))
      assert.match(reasons[1] ?? '', named(malformed.storageKey, '3: '))
      assert.deepEqual(await world.storage.listQuarantined(world.runId), [])
      assert.equal((await world.totals()).ticks, 2)
    })

    it('without its own dead letters, a corrupt batch becomes one of the topic and is never acked', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const corrupt = await world.write(0, 10)
      truncateSync(join(world.storageRoot, corrupt.storageKey), 20)
      const watched = await world.started({ insertBatchSize: 10 })
      await world.announce(corrupt)
      await until(async () => (await world.tidemark.admin.deadLetters(world.batchTopic)).length === 1, {
        what: 'the dead letter of the topic',
      })
      assert.deepEqual(watched.acked, [])
    })

    it('a message that is not a batch, or has other ticks than its file, stops no service', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      const watched = await world.started({ insertBatchSize: 10 })
      await world.tidemark.publish(world.batchTopic, { hello: 'world' })
      await world.tidemark.publish(world.batchTopic, create(BatchInfoSchema, {}))
      await world.tidemark.publish(world.batchTopic, batchEnvelope({ ...batch, tickEnd: 99 }))
      await world.tidemark.publish(world.batchTopic, batchEnvelope({ ...batch, storageKey: '../../etc/passwd' }))
      await world.announce(batch)
      await ackedAre(watched, 0)
      await until(async () => (await world.tidemark.admin.deadLetters(world.batchTopic)).length === 4, {
        what: 'four dead letters',
      })
      await world.assertIndexed({ batches: 1, ticks: 10 })
    })

    it("batches of another run reach only that run's indexer", async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const other = makeRunId()
      await world.announce(await world.write(0, 10, other))
      await world.announce(await world.write(0, 10))
      const watched = await world.started({ insertBatchSize: 10 })
      await ackedAre(watched, 0)
      const database = await world.place.open({}, other)
      await database.metadata.write(world.metadata(other))
      const second = await world.started({ insertBatchSize: 10, runId: other })
      await ackedAre(second, 0)
      await world.assertIndexed({ batches: 1, ticks: 10 })
    })
  })
}
