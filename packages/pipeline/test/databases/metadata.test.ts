import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type IndexDatabase,
  MetadataReader,
  MetadataTimeoutError,
  makeRunId,
  type SimulationMetadata,
} from '@tidemark/pipeline'
import { ConfigError } from 'tidemark'
import { ENGINES } from '../engines.ts'

const metadataOf = (runId: string): SimulationMetadata => ({
  runId,
  startedAt: 1_760_000_000_123,
  seed: 'sea \0 \ud800 é',
  samplingInterval: 10,
  environment: { shape: [100, 100, 3], topology: 'torus' },
  settings: '{"b":1,"a":[2.5,null]}',
  moleculeTypes: ['energy', 'code'],
})

for (const engine of ENGINES) {
  describe(`metadata on ${engine.name}`, () => {
    it('is read as written, also by another process', async () => {
      await using place = await engine.fresh()
      const [writer, reader] = [await place.open(), await place.open()]
      const metadata = metadataOf(place.runId)
      assert.equal(await reader.metadata.has(), false)
      assert.equal(await reader.metadata.read(), null)
      await writer.metadata.write(metadata)
      assert.equal(await reader.metadata.has(), true)
      assert.deepEqual(await reader.metadata.read(), metadata)
    })

    it('is stored once, however often it is written; the last write wins', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await database.metadata.write(metadataOf(place.runId))
      await database.metadata.write(metadataOf(place.runId))
      const changed = { ...metadataOf(place.runId), samplingInterval: 20 }
      await database.metadata.write(changed)
      assert.deepEqual(await database.metadata.read(), changed)
      assert.equal(Number((await place.execute('select count(*) as n from run.run_metadata'))[0]?.n), 1)
    })

    it('of another run is refused', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await assert.rejects(database.metadata.write(metadataOf(makeRunId())), /can't be written into the index of run/)
      assert.equal(await database.metadata.has(), false)
    })
  })

  describe(`a reader that waits, on ${engine.name}`, () => {
    it('receives metadata that is written later, and then stops asking', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const counted = counting(database)
      const reader = new MetadataReader(counted, { pollInterval: 2 })
      const waiting = reader.get()
      await counted.askedTwice
      await (await place.open()).metadata.write(metadataOf(place.runId))
      assert.deepEqual(await waiting, metadataOf(place.runId))
      const { asked } = counted
      assert.deepEqual(await reader.get(), metadataOf(place.runId))
      assert.deepEqual(await reader.peek(), metadataOf(place.runId))
      assert.equal(counted.asked, asked)
    })

    it('gives up after maxDuration, with advice on what to check', async () => {
      await using place = await engine.fresh()
      const reader = new MetadataReader(await place.open(), { pollInterval: 1, maxDuration: 20 })
      await assert.rejects(reader.get(), (error: unknown) => {
        assert.ok(error instanceof MetadataTimeoutError)
        assert.equal(error.runId, place.runId)
        assert.match(error.message, /within 20 ms.*Check that the metadata indexer runs/)
        return true
      })
      assert.equal(await reader.peek(), null)
    })

    it('stops at its signal, with the reason', async () => {
      await using place = await engine.fresh()
      const counted = counting(await place.open())
      const reader = new MetadataReader(counted, { pollInterval: 1 })
      const stop = new AbortController()
      const waiting = reader.get({ signal: stop.signal })
      await counted.askedTwice
      stop.abort(new Error('the indexer stops'))
      await assert.rejects(waiting, /the indexer stops/)
      await assert.rejects(reader.get({ signal: stop.signal }), /the indexer stops/)
    })

    it('does not take a failing database for missing metadata', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await database.close()
      await assert.rejects(new MetadataReader(database).get(), /index database is closed/)
    })
  })
}

describe('the options of a reader', () => {
  it('are checked', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const database = await place.open()
    assert.throws(() => new MetadataReader(database, { pollInterval: 0 }), /pollInterval.*at least 1 ms/)
    assert.throws(() => new MetadataReader(database, { maxWait: 1 } as object), ConfigError)
  })
})

/** The same database, with the reads of its metadata counted. */
function counting(database: IndexDatabase) {
  const twice = Promise.withResolvers<void>()
  const counted = {
    runId: database.runId,
    location: database.location,
    asked: 0,
    askedTwice: twice.promise,
    metadata: {
      ...database.metadata,
      async read() {
        if (++counted.asked === 2) twice.resolve()
        return await database.metadata.read()
      },
      has: () => database.metadata.has(),
      write: (metadata: SimulationMetadata) => database.metadata.write(metadata),
    },
  }
  return counted
}
