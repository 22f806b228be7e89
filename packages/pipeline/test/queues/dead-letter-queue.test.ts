import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { open, type Tidemark, TopicConflictError } from 'tidemark'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { startNats } from '../../../../testing/nats-server.ts'
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
  PostgreSQL: migratedDatabase,
  // It has no reference tracking, and letters of megabytes need a server that takes them.
  JetStream: async () => await startNats({ settings: 'max_payload: 8MB' }),
}
const openAt = async (url: string): Promise<Tidemark> => await open(url, { registry: contractsRegistry })

for (const [engine, place] of Object.entries(PLACES)) {
  describe(`dead letters on ${engine}`, { skip: engine === 'JetStream' && skipWithoutNats() }, () => {
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

    it('that are taken are not returned to others until they are removed or put back', async () => {
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
        await using others = await queue.take({ limit: 10 })
        assert.deepEqual(
          others.letters.map(({ letter }) => textOf(letter)),
          ['c'],
        )
        assert.deepEqual((await queue.list()).map(textOf), ['a', 'b', 'c'])
        assert.equal(await queue.count(), 3)
        await taken.letters[0]?.remove()
      }
      assert.equal(await queue.count(), 2)
      assert.deepEqual((await queue.list()).map(textOf), ['b', 'c'])
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

    it('are listed without being claimed: listing costs no attempt and hides nothing', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      await queue.put(['a', 'b'].map(letterOf))
      assert.deepEqual((await queue.list()).map(textOf), ['a', 'b'])
      const reader = topics.reader(queue.topic, { group: 'letters' })
      const first = await reader.poll(5_000)
      assert.equal(first?.attempt, 1)
      await first.ack()
      await reader.close()
      assert.deepEqual((await queue.list()).map(textOf), ['b'])
    })

    it('stay until they are removed', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      const queue = await DeadLetterQueue.open(topics)
      await topics.configureTopic(queue.topic, { lease: 1, retention: 1 })
      await queue.put(['a', 'b'].map(letterOf))
      const jobs = async (): Promise<void> => {
        await topics.admin.jobs['dead-groups'].runOnce()
        await topics.admin.jobs.messages.runOnce()
      }
      await jobs()
      assert.deepEqual((await queue.list()).map(textOf), ['a', 'b'])
      const [group] = await topics.admin.groups(queue.topic)
      assert.ok((group?.heartbeatTimeoutMs ?? 0) > 99 * 365 * 86_400_000)
    })

    it('of a topic created as a queue, which never had one, are kept in it too', async () => {
      await using at = await place()
      await using topics = await openAt(at.url)
      await topics.configureTopic('old', { semantics: 'queue' })
      const queue = await DeadLetterQueue.open(topics, { topic: 'old' })
      await queue.put([letterOf('a')])
      assert.deepEqual((await queue.list()).map(textOf), ['a'])
      await topics.publish('used', { semantics: 'queue' })
      await assert.rejects(DeadLetterQueue.open(topics, { topic: 'used' }), (error: unknown) => {
        assert.ok(error instanceof TopicConflictError)
        assert.match(error.message, /Handle its messages and delete it .*, or name another topic/)
        return true
      })
    })

    it('can be larger together than one transaction', async () => {
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
