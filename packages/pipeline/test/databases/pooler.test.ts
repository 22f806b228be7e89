import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BatchLedger, type IndexDatabase, makeRunId, openIndex } from '@tidemark/pipeline'
import { freshDatabase } from '../../../../testing/databases.ts'
import { preparedStatements, skipWithoutPooler, startPooler } from '../../../../testing/pooler.ts'

const BATCHES = 20

/** Claims and completes until there is nothing left; the keys it had. */
async function work(index: IndexDatabase, claimer: string): Promise<string[]> {
  const ledger = await BatchLedger.open(index, { indexer: 'pooled', samplingInterval: 1 })
  const done: string[] = []
  for (let start = 0; start < BATCHES; start++) {
    const batch = { key: `batch-${start}`, tickStart: start * 10, tickEnd: start * 10 + 9 }
    const result = await ledger.tryClaim(batch, claimer)
    if (result.outcome !== 'claimed') continue
    await index.transaction(async tx => {
      await tx.run('insert into run.work (batch_key, claimer) values ($1, $2)', batch.key, claimer)
      await ledger.complete(result.claim, { tx })
    })
    done.push(batch.key)
  }
  return done
}

describe('an index behind a pooler in transaction mode', { skip: skipWithoutPooler }, () => {
  it('is created, shared by competing indexers, and read by many at once, whichever session they get', async () => {
    await using server = await freshDatabase()
    await using pooler = await startPooler(server.url)
    const runId = makeRunId()
    const indexes = await Promise.all(Array.from({ length: 3 }, () => openIndex(pooler.url, runId)))
    const [first = assert.fail()] = indexes
    await first.transaction(async tx => {
      await tx.run('create table run.work (batch_key text primary key, claimer text not null)')
    })
    const done = await Promise.all(indexes.map((index, at) => work(index, `indexer-${at}`)))
    const rows = await first.read('select batch_key from run.work')
    assert.equal(rows.length, done.flat().length)
    assert.equal(new Set(done.flat()).size, done.flat().length)
    assert.ok(done.flat().length > 0)
    assert.equal(await first.retries.increment('scope', 'key'), 1)
    const reads = indexes.flatMap(index => Array.from({ length: 20 }, () => index.retries.state('scope', 'key')))
    for (const state of await Promise.all(reads)) assert.equal(state?.count, 1)
    await Promise.all(indexes.map(index => index.close()))
    // What is left in sessions that are others' next has names of its own, which can't mean anything else.
    for (const { name } of await preparedStatements(pooler.url)) assert.match(name, /^tidemark_[0-9a-f]{32}$/)
  })
})
