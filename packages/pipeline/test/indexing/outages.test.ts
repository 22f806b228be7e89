import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import {
  type DeadLetter,
  dummyIndexer,
  type IndexerComponent,
  type IndexerDefinition,
  MetadataIndexer,
  type ServiceStatus,
  storageSource,
} from '@tidemark/pipeline'
import { until } from '../../../../testing/until.ts'
import { ENGINES, type FreshIndex } from '../engines.ts'
import { Line } from '../line.ts'
import { ackedAre, extendedOften, leaseIsExtended, metric, SILENT, type Watched, World } from './world.ts'

/** Something that can be taken away and given back. */
type Removable = AsyncDisposable & {
  readonly address: string
  takeAway(): Promise<void>
  giveBack(): Promise<void>
}

/** The index of a place: a server that no longer answers, or a folder that is no longer mounted. */
async function removableIndex({ address }: FreshIndex): Promise<Removable> {
  if (!address.startsWith('sqlite:')) {
    const line = await Line.to(address)
    return {
      address: line.url,
      takeAway: () => line.takeAway(),
      giveBack: () => line.giveBack(),
      [Symbol.asyncDispose]: () => line[Symbol.asyncDispose](),
    }
  }
  const folder = address.slice('sqlite:'.length)
  return {
    address,
    takeAway: async () => renameSync(folder, `${folder}.away`),
    giveBack: async () => renameSync(`${folder}.away`, folder),
    async [Symbol.asyncDispose]() {},
  }
}

const withComponents = (...more: IndexerComponent[]): IndexerDefinition => ({
  ...dummyIndexer,
  components: ['metadata', 'buffering', ...more],
})

const statusIs = async ({ indexer }: Watched, wanted: Partial<ServiceStatus>): Promise<void> => {
  const entries = Object.entries(wanted) as [keyof ServiceStatus, unknown][]
  await until(() => entries.every(([name, value]) => indexer.status()[name] === value), {
    what: () => `${JSON.stringify(wanted)}; it is ${JSON.stringify(indexer.status())}`,
  })
}

const tries = (watched: Watched): number => watched.indexer.status().errors.length

/** Attempts that count: each claim is one, and a batch that was given back once has had two. */
async function retriesOf(world: World, group = 'dummy'): Promise<number> {
  const groups = await world.tidemark.admin.groups(world.batchTopic)
  const found = groups.find(each => each.group === group)
  return (found?.retries ?? 0) + (found?.deadLetters ?? 0)
}

for (const engine of ENGINES) {
  describe(`an unavailable index, on ${engine.name}`, () => {
    it('costs no attempt: batches stay claimed, and the indexer reports it, also with idempotency', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await using index = await removableIndex(world.place)
      const definition = withComponents('idempotency')
      const watched = await world.started({ index: index.address, insertBatchSize: 10, definition })
      await world.produce(1, 10)
      await ackedAre(watched, 0)
      await index.takeAway()
      await world.produce(3, 10, 10)
      await statusIs(watched, { state: 'WAITING', healthy: false, waitingFor: 'the index database' })
      const before = tries(watched)
      await until(() => tries(watched) > before + 2, { what: 'more tries' })
      assert.deepEqual([await retriesOf(world), watched.indexer.status().metrics.batchesFailed], [0, 0])
      await index.giveBack()
      await ackedAre(watched, 0, 10, 20, 30)
      await statusIs(watched, { state: 'RUNNING', healthy: true, waitingFor: null })
      assert.deepEqual(watched.indexer.status().errors, [])
      assert.deepEqual([await retriesOf(world), watched.indexer.status().metrics.batchesFailed], [0, 0])
      await world.assertIndexed({ batches: 4, ticks: 40 })
    })

    // On SQLite looking is a read, and an open file can be read wherever it was moved to.
    if (engine.name === 'PostgreSQL')
      it('is reported by an idle indexer, which is healthy again once the index is back', async () => {
        await using world = await World.on(engine)
        await world.indexMetadata()
        await using index = await removableIndex(world.place)
        const watched = await world.started({
          index: index.address,
          insertBatchSize: 10,
          ledger: { gapWarningTimeout: 100 },
        })
        await world.produce(1, 10)
        await ackedAre(watched, 0)
        await index.takeAway()
        await statusIs(watched, { healthy: false })
        await index.giveBack()
        await statusIs(watched, { state: 'RUNNING', healthy: true })
        assert.deepEqual(watched.indexer.status().errors, [])
      })

    it('keeps its batches: their leases are extended, and no other instance receives them', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await using index = await removableIndex(world.place)
      const source = extendedOften(world)
      const watched = await world.started({ index: index.address, insertBatchSize: 10, source })
      await world.produce(1, 10)
      await ackedAre(watched, 0)
      await index.takeAway()
      await world.produce(1, 10, 10)
      await statusIs(watched, { waitingFor: 'the index database' })
      await leaseIsExtended(world)
      assert.equal(await retriesOf(world), 0)
      await index.giveBack()
      await ackedAre(watched, 0, 10)
      assert.equal(watched.indexer.status().metrics.staleAcks, 0)
    })

    it('when the indexer is stopped does not keep it, and leaves it unhealthy', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await using index = await removableIndex(world.place)
      const watched = await world.started({ index: index.address, insertBatchSize: 20 })
      await world.produce(1, 10)
      await metric(watched, 'bufferedTicks', 10)
      await index.takeAway()
      await watched.indexer.stop({ timeoutMs: 10_000 })
      const { state, healthy, errors } = watched.indexer.status()
      assert.deepEqual([state, healthy, errors.at(-1)?.action], ['STOPPED', false, 'flush'])
      assert.deepEqual(watched.acked, [])
      watched.indexer.clearErrors()
      assert.deepEqual([watched.indexer.status().healthy, watched.indexer.status().errors], [true, []])
      await index.giveBack()
      const again = await world.started({ insertBatchSize: 10 })
      await ackedAre(again, 0)
    })

    it('at its start makes it wait, and it continues by itself', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await world.produce(1, 10)
      await using index = await removableIndex(world.place)
      await index.takeAway()
      // A folder would be made anew; with a file in its place that can't be.
      const isFolder = index.address.startsWith('sqlite:')
      const folder = index.address.slice('sqlite:'.length)
      if (isFolder) writeFileSync(folder, 'in the way')
      const watched = await world.started({ index: index.address, insertBatchSize: 10 })
      await statusIs(watched, { state: 'WAITING', healthy: false, waitingFor: 'the index database' })
      await until(() => tries(watched) > 2, { what: 'more tries' })
      if (isFolder) rmSync(folder)
      await index.giveBack()
      await ackedAre(watched, 0)
      await statusIs(watched, { state: 'RUNNING', healthy: true })
    })

    it('when it starts does not keep it from stopping', async () => {
      await using world = await World.on(engine)
      await using index = await removableIndex(world.place)
      if (index.address.startsWith('sqlite:')) writeFileSync(index.address.slice('sqlite:'.length), 'in the way')
      else await index.takeAway()
      const watched = await world.started({ index: index.address })
      await statusIs(watched, { state: 'WAITING' })
      await watched.indexer.stop({ timeoutMs: 5_000 })
      assert.equal(watched.indexer.state, 'STOPPED')
    })

    it('counts the failure of a poison batch once, when it is back', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      await using index = await removableIndex(world.place)
      const letters: DeadLetter[] = []
      let failures = 0
      const definition: IndexerDefinition = {
        ...withComponents('dlq'),
        async flush(ticks, tx, flush) {
          await dummyIndexer.flush(ticks, tx, flush)
          if (!ticks.some(({ tick }) => tick === 15)) return
          failures++
          // Its failure can't be counted while the index is away.
          if (failures === 1) await index.takeAway()
          throw new Error('This tick is poison')
        },
      }
      const watched = await world.started({
        index: index.address,
        insertBatchSize: 10,
        maxRetries: 1,
        definition,
        deadLetters: async letter => void letters.push(letter),
      })
      await world.produce(2, 10)
      await statusIs(watched, { waitingFor: 'the index database' })
      await index.giveBack()
      await until(() => letters.length === 1, { what: 'the dead letter' })
      assert.deepEqual([failures, letters[0]?.retryCount], [2, 2])
    })
  })

  describe(`an unavailable storage, on ${engine.name}`, () => {
    it('counts no failure, and everything is indexed when it is available', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const letters: DeadLetter[] = []
      await world.produce(3, 10)
      renameSync(world.storageRoot, `${world.storageRoot}.away`)
      // What a mount that is gone leaves.
      mkdirSync(world.storageRoot)
      const watched = await world.started({
        insertBatchSize: 10,
        maxRetries: 0,
        definition: withComponents('dlq'),
        deadLetters: async letter => void letters.push(letter),
      })
      await statusIs(watched, { state: 'WAITING', healthy: false, waitingFor: 'the storage' })
      const before = tries(watched)
      await until(() => tries(watched) > before + 2, { what: 'more tries' })
      assert.deepEqual(readdirSync(world.storageRoot), [])
      rmSync(world.storageRoot, { recursive: true })
      renameSync(`${world.storageRoot}.away`, world.storageRoot)
      await ackedAre(watched, 0, 10, 20)
      await statusIs(watched, { state: 'RUNNING', healthy: true })
      assert.deepEqual([letters, watched.indexer.status().metrics.batchesFailed], [[], 0])
      assert.deepEqual(await world.place.execute('select * from run.retry_count'), [])
    })

    it('is waited for by the storage source too', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const source = storageSource({ scanInterval: 20, maxAttempts: 1 })
      const watched = await world.started({ insertBatchSize: 10, source, flushTimeout: 50 })
      await world.write(0, 10)
      await ackedAre(watched, 0)
      renameSync(world.storageRoot, `${world.storageRoot}.away`)
      await statusIs(watched, { healthy: false, waitingFor: 'the storage' })
      renameSync(`${world.storageRoot}.away`, world.storageRoot)
      await world.write(10, 10)
      await ackedAre(watched, 0, 10)
      await statusIs(watched, { healthy: true, state: 'RUNNING' })
    })

    it('does not cost metadata an attempt', async () => {
      await using world = await World.on(engine)
      await world.announceMetadata()
      renameSync(world.storageRoot, `${world.storageRoot}.away`)
      const { storage, tidemark, place, runId } = world
      await using indexer = new MetadataIndexer({ storage, tidemark, index: place.address, runId, logger: SILENT })
      await indexer.start()
      await until(() => indexer.status().waitingFor === 'the storage', { what: 'it to wait' })
      assert.equal(indexer.status().healthy, false)
      renameSync(`${world.storageRoot}.away`, world.storageRoot)
      await until(() => indexer.status().metrics.metadataWritten === 1, { what: 'the metadata' })
      await until(() => indexer.status().healthy, { what: 'it to be well' })
      assert.equal(indexer.status().metrics.metadataFailed, 0)
    })
  })

  describe(`the health of an indexer, on ${engine.name}`, () => {
    it('is false while every flush fails, and true with the first that succeeds', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      let isBroken = true
      const definition: IndexerDefinition = {
        ...dummyIndexer,
        async flush(ticks, tx, flush) {
          await dummyIndexer.flush(ticks, tx, flush)
          if (isBroken) throw new Error('Not now')
        },
      }
      const watched = await world.started({ insertBatchSize: 10, definition })
      await world.produce(1, 10)
      await until(() => (watched.indexer.status().metrics.flushesFailed ?? 0) > 2, { what: 'three failures' })
      assert.deepEqual([watched.indexer.status().healthy, watched.indexer.state], [false, 'RUNNING'])
      isBroken = false
      await ackedAre(watched, 0)
      await statusIs(watched, { healthy: true })
      assert.deepEqual(watched.indexer.status().errors, [])
    })
  })
}

describe('an index file that is replaced', () => {
  it('is reopened, and writes go into the new one', async () => {
    const [sqlite] = ENGINES
    assert.ok(sqlite)
    await using world = await World.on(sqlite)
    await world.indexMetadata()
    const watched = await world.started({ insertBatchSize: 10 })
    await world.produce(1, 10)
    await ackedAre(watched, 0)
    const folder = world.place.address.slice('sqlite:'.length)
    renameSync(folder, `${folder}.old`)
    await world.indexMetadata()
    await world.produce(1, 10, 10)
    await ackedAre(watched, 0, 10)
    await world.assertIndexed({ batches: 1, ticks: 10 })
    await statusIs(watched, { healthy: true, state: 'RUNNING' })
  })
})
