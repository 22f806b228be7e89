import assert from 'node:assert/strict'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  batchEnvelope,
  batchOf,
  configureNotificationTopic,
  type DeadLetter,
  DeadLetterQueue,
  deadLettersTo,
  dummyIndexer,
  encodeTick,
  FileSystemStorage,
  type IndexerDefinition,
  IndexUnreachableError,
  makeRunId,
  storageSource,
} from '@tidemark/pipeline'
import { Client } from 'pg'
import { until } from '../../../../testing/until.ts'
// Inside: an announcement that our own code would never make.
import { BatchInfoSchema } from '../../src/contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { ENGINES, type FreshIndex, schemaOf } from '../engines.ts'
import { cellsAt, NO_CELLS, tickOf } from '../indexes/ticks.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { ackedAre, metric, World } from './world.ts'

/** Fails as long as `fails` says so of a tick in the flush. */
function failing(fails: (tick: number) => boolean, more: Partial<IndexerDefinition> = {}): IndexerDefinition {
  return {
    ...dummyIndexer,
    ...more,
    async flush(ticks, tx, flush) {
      await dummyIndexer.flush(ticks, tx, flush)
      if (ticks.some(({ tick }) => fails(tick))) throw new Error('This tick is poison')
    },
  }
}

/** As another program's transaction does. */
async function lockIndex({ address, runId }: FreshIndex): Promise<AsyncDisposable> {
  if (address.startsWith('sqlite:')) {
    const db = new DatabaseSync(join(address.slice('sqlite:'.length), `${schemaOf(runId)}.db`), { timeout: 5_000 })
    db.exec('begin immediate')
    return { [Symbol.asyncDispose]: async () => db.close() }
  }
  const client = new Client({ connectionString: address })
  await client.connect()
  await client.query(`begin; lock table "${schemaOf(runId)}".dummy_tick`)
  return { [Symbol.asyncDispose]: () => client.end() }
}

for (const engine of ENGINES) {
  describe(`what fails, on ${engine.name}`, () => {
    it('a failed flush leaves its batches unacked and nothing in the index, and the service running', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let isBroken = true
      const watched = await world.started({ insertBatchSize: 20, definition: failing(() => isBroken) })
      await world.tidemark.configureTopic(world.batchTopic, { backoff: { initial: '1h', max: '1h' } })
      await world.produce(2, 10)
      await metric(watched, 'batchesFailed', 2)
      assert.deepEqual([watched.acked, await world.unacked(), watched.indexer.state], [[], 2, 'RUNNING'])
      await world.assertIndexed({ batches: 0, ticks: 0 })
      assert.match(watched.indexer.status().errors.at(-1)?.error.message ?? '', /poison/)
      isBroken = false
      await world.produce(2, 10, 20)
      await ackedAre(watched, 20, 30)
    })

    it('batches of a failed flush come again, each by itself', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let failures = 1
      const watched = await world.started({ insertBatchSize: 30, definition: failing(() => failures-- > 0) })
      await world.produce(3, 10)
      await until(() => watched.acked.length === 3, { what: 'three acks' })
      assert.deepEqual(
        watched.flushes.map(({ length }) => length),
        [10, 10, 10],
      )
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('an index that is away for a while costs no batch an attempt', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let isAway = true
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush(ticks, tx, flush) {
          if (isAway) throw new IndexUnreachableError('a test')
          await dummyIndexer.flush(ticks, tx, flush)
        },
      }
      await world.produce(2, 10)
      const watched = await world.started({ insertBatchSize: 20, definition })
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 2, { what: 'two tries' })
      assert.equal(watched.indexer.status().healthy, false)
      isAway = false
      await ackedAre(watched, 0, 10)
      assert.equal(watched.indexer.status().healthy, true)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 0)
      assert.deepEqual(watched.flushes, [range(0, 20)])
    })

    it('an index that another one holds locked, for longer than busyTimeout, is waited for', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const watched = await world.started({
        insertBatchSize: 20,
        indexOptions: { durability: 'process', busyTimeout: 50 },
      })
      await world.produce(1, 10)
      await metric(watched, 'bufferedTicks', 10)
      {
        await using _lock = await lockIndex(world.place)
        await world.produce(1, 10, 10)
        await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 1, { what: 'a try' })
        assert.equal(watched.indexer.status().errors.at(-1)?.error.name, 'IndexLockedError')
      }
      await ackedAre(watched, 0, 10)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 0)
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('stopped while the index is away, it stops, and acks nothing', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(2, 10)
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush() {
          throw new IndexUnreachableError('a test')
        },
      }
      const watched = await world.started({ insertBatchSize: 15, definition })
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) >= 1, { what: 'a try' })
      await watched.indexer.stop()
      assert.deepEqual([watched.indexer.state, watched.acked, await world.unacked()], ['STOPPED', [], 2])
      const next = await world.started({ insertBatchSize: 10 })
      await until(() => next.acked.length === 2, { what: 'the next to index both' })
      await world.assertIndexed({ batches: 2, ticks: 20 })
    })

    it('a poison batch goes to the dead letters after retries that competing indexers count together', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let attempts = 0
      const isPoison = (tick: number) => {
        if (tick !== 15) return false
        attempts++
        return true
      }
      const letters: DeadLetter[] = []
      const setup = {
        insertBatchSize: 10,
        maxRetries: 3,
        definition: failing(isPoison, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async (letter: DeadLetter) => void letters.push(letter),
      }
      const indexers = [await world.started(setup), await world.started(setup)]
      await world.produce(4, 10)
      const sum = (name: string) =>
        indexers.reduce((total, { indexer }) => total + (indexer.status().metrics[name] ?? 0), 0)
      await until(() => sum('batchesDeadLettered') === 1 && sum('batchesIndexed') === 3, { what: 'all to be settled' })
      assert.equal(attempts, 4)
      assert.equal(letters.length, 1)
      const [letter] = letters
      assert.deepEqual([letter?.retryCount, letter?.sourceService], [4, 'dummy'])
      assert.match(letter?.failureReason ?? '', /This tick is poison/)
      assert.match(letter?.messageType ?? '', /BatchInfo$/)
      assert.equal(await world.unacked(), 0)
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('a dead letter that could not be kept is tried again with the batch, which is not acked before', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let letters = 0
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 0,
        definition: failing(() => true, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => {
          if (letters++ === 0) throw new Error('The letter box is full')
        },
      })
      await world.produce(1, 10)
      await metric(watched, 'batchesDeadLettered', 1)
      assert.deepEqual([letters, watched.indexer.status().metrics.batchesFailed], [2, 2])
      assert.equal(await world.unacked(), 0)
    })

    it('kills are not held against the batch that was in hand', async () => {
      await using world = await World.on(engine, { lease: 50 })
      await world.indexMetadata()
      const setup = {
        insertBatchSize: 10,
        maxRetries: 1,
        definition: failing(() => false, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => assert.fail('Nothing failed'),
      }
      await world.produce(1, 10)
      await configureNotificationTopic(world.tidemark, world.batchTopic)
      // What a killed process leaves behind is a lease that runs out.
      const reader = world.tidemark.reader(world.batchTopic, { group: 'dummy', from: 'beginning' })
      for (let attempt = 0; attempt < 10; ) attempt = (await reader.poll(10_000))?.attempt ?? assert.fail('It is gone')
      await reader.close()
      const next = await world.started(setup)
      await ackedAre(next, 0)
      assert.equal(next.indexer.status().metrics.batchesFailed, 0)
      await world.assertIndexed({ batches: 1, ticks: 10 })
    })

    it('a success makes the failures before it forgotten', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      let failures = 2
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 2,
        definition: failing(tick => tick === 5 && failures-- > 0, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: async () => assert.fail('No batch failed more than twice'),
      })
      await world.announce(batch)
      await ackedAre(watched, 0)
      failures = 2
      await world.announce(batch)
      await ackedAre(watched, 0, 0)
      assert.equal(watched.indexer.status().metrics.batchesFailed, 4)
    })

    it('innocent batches that shared a flush with a poison one are indexed', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(5, 10)
      const watched = await world.started({
        insertBatchSize: 50,
        maxRetries: 1,
        definition: failing(tick => tick === 25, { components: ['metadata', 'buffering', 'dlq'] }),
        deadLetters: deadLettersTo(world.tidemark),
      })
      await metric(watched, 'batchesDeadLettered', 1)
      await metric(watched, 'batchesIndexed', 4)
      assert.deepEqual(
        watched.acked.toSorted((a, b) => a - b),
        [0, 10, 30, 40],
      )
      const letters = await (await DeadLetterQueue.open(world.tidemark, { topic: 'indexer-dead-letters' })).list()
      assert.deepEqual(
        letters.map(({ sourceService, messageType }) => [sourceService, messageType.split('.').at(-1)]),
        [['dummy', 'BatchInfo']],
      )
    })

    it('a corrupt batch file is quarantined and dead-lettered, and the service goes on', async () => {
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
      assert.match(letters[0]?.failureReason ?? '', /CorruptFileError|cut short/)
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

    it('without dead letters of its own a corrupt batch ends in those of the topic, never acked', async () => {
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

    it('with the storage source a batch that keeps failing is marked failed, and others go on', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      for (const start of [0, 10, 20]) await world.write(start, 10)
      const watched = await world.started({
        insertBatchSize: 10,
        source: storageSource({ scanInterval: 20, maxAttempts: 3, retryDelay: 1 }),
        definition: failing(tick => tick === 15),
        flushTimeout: 50,
      })
      await until(() => watched.acked.length === 2 && watched.indexer.status().metrics.batchesFailed === 3, {
        what: 'two acks and three failures',
      })
      const rows = await world.place.execute(`select status from run.batch_processing order by tick_start`)
      await until(
        async () => {
          const [row] = await world.place.execute(
            `select count(*) as n from run.batch_processing where status = 'failed'`,
          )
          return Number(row?.n) === 1
        },
        { what: `a failed batch among ${JSON.stringify(rows)}` },
      )
    })

    it('a message that is no batch, or whose ticks are not those of its file, stops nobody', async () => {
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

    it("another run's batches never come here, and reach that run's indexer", async () => {
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

    it('a flush that takes longer than the lease keeps its batches', async () => {
      await using world = await World.on(engine, { lease: 300 })
      await world.indexMetadata()
      await world.produce(1, 10)
      const started = performance.now()
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush(ticks, tx, flush) {
          await until(() => performance.now() - started > 1_000, { what: 'three leases to pass' })
          await dummyIndexer.flush(ticks, tx, flush)
        },
      }
      const slow = await world.started({ insertBatchSize: 10, definition })
      await metric(slow, 'batchesReceived', 1)
      const idle = await world.started({ insertBatchSize: 10 })
      await ackedAre(slow, 0)
      assert.equal(idle.indexer.status().metrics.batchesReceived, 0)
      assert.equal(slow.indexer.status().metrics.staleAcks, 0)
    })
  })

  describe(`redelivery, on ${engine.name}`, () => {
    it('gives the identical index, also when ticks come together in other flushes', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batches = [await world.write(0, 10), await world.write(10, 10), await world.write(20, 10)]
      const watched = await world.started({ insertBatchSize: 7, flushTimeout: 50 })
      for (const batch of batches) await world.announce(batch)
      await until(() => watched.acked.length === 3, { what: 'three acks' })
      const before = await world.rows()
      for (const batch of [...batches.toReversed(), ...batches]) await world.announce(batch)
      await until(() => watched.acked.length === 9, { what: 'nine acks' })
      assert.deepEqual(await world.rows(), before)
      await world.assertIndexed({ batches: 3, ticks: 30 })
    })

    it('a batch that comes twice within one buffer is flushed in two flushes', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const batch = await world.write(0, 10)
      await world.announce(batch)
      await world.announce(batch)
      const watched = await world.started({ insertBatchSize: 1_000, flushTimeout: 100 })
      await ackedAre(watched, 0, 0)
      assert.deepEqual(watched.flushes, [range(0, 10), range(0, 10)])
    })

    it('with idempotency a batch that was indexed is not read again; it is marked after the ack only', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const components = ['metadata', 'buffering', 'idempotency'] as const
      const batch = await world.write(0, 10)
      const watched = await world.started({ insertBatchSize: 20, definition: { ...dummyIndexer, components } })
      await world.announce(batch)
      await metric(watched, 'bufferedTicks', 10)
      const marked = async () => (await world.place.execute('select item_key from run.processed_key')).length
      assert.equal(await marked(), 0)
      await world.produce(1, 10, 10)
      await ackedAre(watched, 0, 10)
      assert.equal(await marked(), 2)
      await world.announce(batch)
      await metric(watched, 'batchesSkipped', 1)
      assert.equal(watched.flushes.length, 1)
      assert.equal(await world.unacked(), 0)
    })
  })
}
