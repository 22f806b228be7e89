/** Gaps and failed batches of more than a page: all pages together are all of them. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BatchLedger, openIndex } from '@tidemark/pipeline'
import { metadataOf, startWorld, type World } from './worlds.ts'

const BUDGET = 64 * 1024
/** The first is the beginning of the second, and its name alone sorts before it. */
const GAPS = { a: 1_100, 'a-b': 40 }
const FAILED = { a: 15, 'a-b': 15 }

describe('a list of a ledger that is longer than its budget', () => {
  let world: World
  before(async () => {
    world = await startWorld({ limits: { answerBytes: BUDGET } })
    await using database = await openIndex(`sqlite:${join(world.folder, 'index')}`, world.runId, {
      durability: 'process',
    })
    await database.metadata.write(metadataOf(world.runId))
    for (const [indexer, count] of Object.entries(GAPS)) {
      const ledger = await BatchLedger.open(database, { indexer, samplingInterval: 1 })
      await database.transaction(async tx => {
        for (let n = 0; n <= count; n++) await ledger.recordProcessed({ tickStart: n * 10, tickEnd: n * 10 }, { tx })
      })
    }
    for (const [indexer, count] of Object.entries(FAILED)) {
      const ledger = await BatchLedger.open(database, { indexer, samplingInterval: 1 })
      for (let n = 0; n < count; n++) {
        const range = { tickStart: 100_000 + n, tickEnd: 100_000 + n }
        const key = `${world.runId}/raw/000/000/batch_${range.tickStart}_${range.tickEnd}.pb`
        await ledger.recordProcessed({ tickStart: 99_999, tickEnd: 99_999 })
        const claimed = await ledger.tryClaim({ key, ...range }, 'test')
        assert.ok(claimed.outcome === 'claimed', claimed.outcome)
        await ledger.fail(claimed.claim, new Error('x'.repeat(4_000)))
      }
    }
  })
  after(() => world[Symbol.asyncDispose]())

  async function pages(path: string, name: string, limit: number): Promise<string[]> {
    const ids: string[] = []
    let count = 0
    for (let query = ''; ; count++) {
      const { status, bytes, body, text } = await world.get(`/api/v1/${path}?limit=${limit}${query}`)
      assert.equal(status, 200, text)
      assert.ok(bytes.length <= BUDGET + 500, `${bytes.length} bytes`)
      for (const { indexer, key, tickStart } of body[name]) ids.push(`${indexer} ${key ?? tickStart}`)
      if (body.next === null) break
      query = `&after=${encodeURIComponent(body.next)}`
    }
    assert.ok(count > 0, 'it fits into one page: this test shows nothing')
    return ids
  }

  const total = (counts: object): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

  for (const limit of [7, 1_000]) {
    it(`gives all gaps, at most ${limit} a page`, async () => {
      const ids = await pages(`runs/${world.runId}/gaps`, 'gaps', limit)
      // One more each: between the gaps and the batches that failed.
      assert.deepEqual([ids.length, new Set(ids).size], [total(GAPS) + 2, total(GAPS) + 2])
    })

    it(`gives all failed batches, at most ${limit} a page`, async () => {
      const ids = await pages(`pipeline/runs/${world.runId}/failed-batches`, 'batches', limit)
      assert.deepEqual([ids.length, new Set(ids).size], [total(FAILED), total(FAILED)])
    })
  }

  it('refuses an invalid cursor', async () => {
    for (const after of ['x', 'a/', '/3', 'a/-1', 'a/99999999999999999999'])
      assert.equal((await world.get(`/api/v1/runs/${world.runId}/gaps?after=${after}`)).status, 400, after)
  })
})
