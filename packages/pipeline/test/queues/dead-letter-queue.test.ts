import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { open, type Tidemark } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { contractsRegistry, type DeadLetter, DeadLetterQueue } from '../../src/index.ts'

const letterOf = (text: string): DeadLetter => ({
  originalMessage: Buffer.from(text),
  messageType: 'tidemark.pipeline.v1.TickData',
  failureReason: `Error: ${text} failed`,
  retryCount: 3,
  sourceService: 'persistence',
  firstFailureAt: 1_760_000_000_000,
  lastFailureAt: 1_760_000_001_000,
  stackTraceLines: ['Error', 'at here'],
})
const textOf = ({ originalMessage }: DeadLetter): string => Buffer.from(originalMessage).toString()

const PLACES = {
  SQLite: async () => {
    const folder = temporaryFolder()
    return { url: `sqlite:${folder.path}/topics.db`, [Symbol.asyncDispose]: async () => folder[Symbol.dispose]() }
  },
  PostgreSQL: freshDatabase,
}
const openAt = async (url: string): Promise<Tidemark> => await open(url, { registry: contractsRegistry })

for (const [engine, place] of Object.entries(PLACES)) {
  describe(`dead letters on ${engine}`, () => {
    it('survive a restart, and are counted and listed', async () => {
      await using at = await place()
      {
        await using topics = await openAt(at.url)
        const queue = await DeadLetterQueue.open(topics)
        assert.equal(await queue.count(), 0)
        await queue.put(['a', 'b', 'c'].map(letterOf))
        await queue.put([])
        assert.equal(await queue.count(), 3)
      }
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      assert.equal(await queue.count(), 3)
      assert.deepEqual((await queue.list()).map(textOf), ['a', 'b', 'c'])
      const [first] = await queue.list({ limit: 1 })
      assert.deepEqual({ ...first, originalMessage: Buffer.from('a') }, letterOf('a'))
      assert.equal((await queue.list({ limit: 2 })).length, 2)
      assert.equal(await queue.count(), 3)
    })

    it('that are taken nobody else gets, until they are removed or given back', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      await queue.put(['a', 'b', 'c'].map(letterOf))
      {
        await using taken = await queue.take({ limit: 2 })
        assert.deepEqual(
          taken.letters.map(({ letter }) => textOf(letter)),
          ['a', 'b'],
        )
        assert.deepEqual((await queue.list()).map(textOf), ['c'])
        assert.equal(await queue.count(), 3)
        await taken.letters[0]?.remove()
      }
      assert.equal(await queue.count(), 2)
      assert.deepEqual((await queue.list()).map(textOf).sort(), ['b', 'c'])
    })

    it('are put back at once', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      await queue.put([letterOf('a')])
      await using taken = await queue.take()
      await taken.letters[0]?.putBack()
      assert.deepEqual((await queue.list()).map(textOf), ['a'])
    })

    it('stand many looks', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      await queue.put([letterOf('a')])
      for (let look = 0; look < 12; look++) assert.equal((await queue.list()).length, 1, `look ${look}`)
    })

    it('can be larger together than one transaction takes', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      const large = { ...letterOf('x'), originalMessage: new Uint8Array(3_000_000) }
      await queue.put([large, large, large, large])
      assert.equal(await queue.count(), 4)
      assert.equal((await queue.list({ limit: 1 }))[0]?.originalMessage.length, 3_000_000)
    })
  })
}
