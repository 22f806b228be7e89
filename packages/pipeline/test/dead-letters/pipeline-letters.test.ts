import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import {
  type DeadLetter,
  DeadLetterQueue,
  deadLettersTo,
  dummyIndexer,
  failedBatches,
  failedBatchPlace,
  type IndexerDefinition,
  PipelineLetters,
  retryFailed,
  storageSource,
} from '../../src/index.ts'
import { ENGINES } from '../engines.ts'
import { World } from '../indexing/world.ts'
import { ticksOf } from '../storage/ticks.ts'

const lettersOf = (world: World): PipelineLetters =>
  new PipelineLetters({ topics: world.tidemark, storage: world.storage, indexes: [world.place.address] })

const tickLetter = (bytes: Uint8Array, failureReason: string): DeadLetter => ({
  originalMessage: bytes,
  messageType: 'tidemark.pipeline.v1.TickData',
  failureReason,
  retryCount: 3,
  sourceService: 'persistence',
  firstFailureAt: 1_760_000_000_000,
  lastFailureAt: 1_760_000_001_000,
  stackTraceLines: ['at here'],
})

/** Fails until it is cured. */
function sick(components: IndexerDefinition['components']) {
  const state = { isSick: true, flushes: 0 }
  const definition: IndexerDefinition = {
    ...dummyIndexer,
    ...(components !== undefined && { components }),
    async flush(ticks, tx, flush) {
      state.flushes++
      if (state.isSick) throw new Error('This index refuses all')
      await dummyIndexer.flush(ticks, tx, flush)
    },
  }
  return { state, definition }
}

for (const engine of ENGINES) {
  describe(`dead letters of the pipeline, on ${engine.name}`, () => {
    it('of ticks are listed with run, tick and reason, redriven into the storage, or discarded', async () => {
      await using world = await World.on(engine)
      const letters = lettersOf(world)
      assert.deepEqual(await letters.list(), [])
      const queue = await DeadLetterQueue.open(world.tidemark)
      const ticks = ticksOf([5, 6, 7], { runId: world.runId })
      await queue.put(ticks.map(({ bytes }, at) => tickLetter(bytes, at === 1 ? 'Error: other' : 'Error: no room')))
      await queue.put([tickLetter(new Uint8Array([1, 2, 3]), 'ContractError: not a tick')])
      const listed = await letters.list()
      assert.deepEqual(
        listed.map(({ kind, runId, tickStart, service, reason }) => [kind, runId, tickStart, service, reason]),
        [
          ['tick', world.runId, 5, 'persistence', 'Error: no room'],
          ['tick', world.runId, 6, 'persistence', 'Error: other'],
          ['tick', world.runId, 7, 'persistence', 'Error: no room'],
          ['tick', null, null, 'persistence', 'ContractError: not a tick'],
        ],
      )
      const [first, second, , broken] = listed
      assert.deepEqual(await letters.inspect(first?.id ?? ''), first)
      assert.equal(await letters.inspect('nobody'), null)
      const paged: string[] = []
      for (let after: string | null | undefined; after !== null; ) {
        const { letters: page, next } = await letters.page({ kind: 'tick' }, { limit: 3, ...(after && { after }) })
        paged.push(...page.map(({ id }) => id))
        after = next
      }
      assert.deepEqual(
        paged,
        listed.map(({ id }) => id),
      )
      await assert.rejects(letters.page({}, { after: 'nowhere' }), /after/)
      await assert.rejects(letters.redrive({}), /all/)
      // One, a filter, then all: what can't be stored stays and says why.
      assert.deepEqual(await letters.redrive({ ids: [second?.id ?? ''] }), { redriven: 1, failed: [] })
      assert.deepEqual(await letters.redrive({ reason: 'no room' }), { redriven: 2, failed: [] })
      assert.equal((await letters.list()).length, 1)
      const stored = await world.storage.listBatches({ prefix: `${world.runId}/` })
      assert.deepEqual(
        stored.items.map(({ tickStart }) => tickStart),
        [5, 6, 7],
      )
      const announced = await world.tidemark.admin.browse(world.batchTopic, {})
      assert.equal(announced.messages.length, 3)
      assert.equal((await letters.redrive({ all: true })).failed.length, 1)
      assert.deepEqual(
        (await letters.list()).map(({ id }) => id),
        [broken?.id],
      )
      assert.equal(await letters.discard({ ids: [broken?.id ?? ''] }), 1)
      assert.deepEqual(await letters.list(), [])
    })

    it('of batches name the file, and are reindexed by their indexer only', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const { state, definition } = sick(['metadata', 'buffering', 'dlq'])
      const setup = { insertBatchSize: 10, maxRetries: 0, definition, deadLetters: deadLettersTo(world.tidemark) }
      const watched = await world.started(setup)
      const other = await world.started({ insertBatchSize: 10, definition: { ...dummyIndexer, name: 'other' } })
      await world.produce(1, 10)
      await until(() => watched.indexer.status().metrics.batchesDeadLettered === 1, { what: 'the dead letter' })
      await until(() => other.indexer.status().metrics.batchesIndexed === 1, { what: 'the other' })
      const letters = lettersOf(world)
      const [letter] = await letters.list({ kind: 'batch' })
      assert.match(letter?.storageKey ?? '', /batch_0000000000000000000_0000000000000000009/)
      assert.deepEqual([letter?.service, letter?.runId, letter?.tickEnd], ['dummy', world.runId, 9])
      assert.match(letter?.reason ?? '', /This index refuses all/)
      state.isSick = false
      assert.deepEqual(await letters.redrive({ service: 'dummy' }), { redriven: 1, failed: [] })
      await until(() => watched.indexer.status().metrics.batchesIndexed === 1, { what: 'the batch to be indexed' })
      await until(async () => (await world.unacked('other')) === 0, { what: 'the other to pass it over' })
      assert.equal(other.indexer.status().metrics.batchesIndexed, 1)
      assert.deepEqual(await letters.list(), [])
      const { metrics } = watched.indexer.status()
      assert.ok((metrics.indexTransactions ?? 0) > 0 && (metrics.metadataReads ?? 0) > 0)
    })

    it('whose file is damaged stay, with the reason', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const { state, definition } = sick(['metadata', 'buffering', 'dlq'])
      const setup = { insertBatchSize: 10, maxRetries: 0, definition, deadLetters: deadLettersTo(world.tidemark) }
      const watched = await world.started(setup)
      await world.produce(1, 10)
      await until(() => watched.indexer.status().metrics.batchesDeadLettered === 1, { what: 'the dead letter' })
      state.isSick = false
      const letters = lettersOf(world)
      const [letter] = await letters.list()
      writeFileSync(join(world.storageRoot, letter?.storageKey ?? ''), 'torn')
      const { redriven, failed } = await letters.redrive({ all: true })
      assert.equal(redriven, 0)
      assert.match(failed[0]?.error ?? '', /batch_/)
      assert.equal((await letters.list()).length, 1)
    })

    it('of an indexer that reads the storage are in its ledger, and are claimed again', async () => {
      await using world = await World.on(engine)
      await world.indexMetadata()
      const { state, definition } = sick(['metadata', 'buffering'])
      const source = storageSource({ maxAttempts: 1, scanInterval: 20 })
      const watched = await world.started({ insertBatchSize: 10, definition, source })
      await world.write(0, 10)
      await using database = await world.place.open()
      const failed = await until(
        async () => {
          const found = await failedBatches(database)
          return found.length > 0 && found
        },
        { what: 'the failed batch' },
      )
      assert.deepEqual([failed[0]?.indexer, failed[0]?.tickEnd], ['dummy', 9])
      assert.match(failed[0]?.error ?? '', /This index refuses all/)
      const after = failedBatchPlace(failed[0] ?? { indexer: '', key: '' })
      assert.deepEqual(await failedBatches(database, { after }), [])
      assert.equal((await failedBatches(database, { after: 'dummy/' })).length, 1)
      state.isSick = false
      assert.equal(await retryFailed(database, 'nobody', failed[0]?.key ?? ''), false)
      assert.equal(await retryFailed(database, 'dummy', failed[0]?.key ?? ''), true)
      await until(() => watched.indexer.status().metrics.batchesIndexed === 1, { what: 'it to be indexed' })
      assert.deepEqual(await failedBatches(database, { indexer: 'dummy' }), [])
      assert.equal(watched.indexer.status().metrics.ledgerFailed, 1)
    })
  })
}
