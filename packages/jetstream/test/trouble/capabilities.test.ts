/** What the engine does not have is refused with what to use instead, and nothing is changed. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { open, type Tidemark, TidemarkError } from 'tidemark'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { type NatsCluster, startNats } from '../../../../testing/nats-server.ts'
import { silent } from '../silent.ts'

const PLAIN = { semantics: 'pub-sub' } as const
const INSTEAD = /Use PostgreSQL or SQLite for such a topic/

describe('what NATS JetStream does not have', { skip: skipWithoutNats() }, () => {
  let cluster: NatsCluster
  let tm: Tidemark

  before(async () => {
    cluster = await startNats()
    tm = await open(cluster.url, { logger: silent })
    await tm.configureTopic('empty', PLAIN)
    await tm.configureTopic('used', PLAIN)
    await tm.configureTopic('ids', PLAIN)
    await tm
      .consumerGroup('used', 'g')
      .addConsumer('c', () => undefined)
      .start()
    await tm.publish('used', 1)
  })
  after(async () => {
    await tm?.close()
    await cluster?.[Symbol.asyncDispose]()
  })

  const refused = async (work: Promise<unknown>, message: RegExp): Promise<void> => {
    await assert.rejects(work, (error: Error) => {
      assert.ok(error instanceof TidemarkError, String(error))
      assert.match(error.message, message)
      return true
    })
  }

  for (const topic of ['new', 'empty', 'used']) {
    it(`is reference tracking: a topic that is ${topic} is refused, and stays as it was`, async () => {
      const wanted = { ...PLAIN, tracking: 'reference' } as const
      await refused(tm.configureTopic(topic, wanted), INSTEAD)
      if (topic === 'new') return
      await refused(tm.admin.previewTopic(topic, wanted), INSTEAD)
      await refused(tm.admin.setTracking(topic, 'reference'), INSTEAD)
      assert.equal((await tm.admin.describeTopic(topic)).config.tracking, 'offset')
    })
  }

  it('are backfills', async () => {
    await refused(
      tm.admin.startBackfill('used', 'g', { from: 'beginning' }),
      /needs no backfill: resetGroup\('used', 'g', …\) places it/,
    )
  })

  it('is a batch of more messageIds than one atomic batch holds', async () => {
    const batch = (count: number, prefix: string) =>
      Array.from({ length: count }, (_, n) => ({ payload: n, messageId: `${prefix}-${n}` }))
    await refused(
      tm.publishMessages('ids', batch(999, 'a')),
      /999 messages for topic 'ids'.* Publish it in several batches/,
    )
    assert.equal((await tm.admin.describeTopic('ids')).messagesPublished, 0)
    // Whoever publishes one by one is no such batch, although the publishes that wait together are stored together.
    const single = batch(1_000, 'b').map(({ payload, messageId }) => tm.publish('ids', payload, { messageId }))
    const refs = await Promise.all(single)
    assert.equal(new Set(refs.map(({ id }) => id)).size, 1_000)
    // In two halves: the ids of a batch have one entry.
    assert.equal(new Set(refs.map(({ id }) => Math.floor(id / 1_024))).size, 2)
  })

  it('is a part in transactions', async () => {
    const tx = { query: async () => ({ rows: [] }) }
    await refused(tm.publish('used', 2, { tx }), /Publish inside the transaction to a PostgreSQL topic, and relay/)
    assert.equal((await tm.admin.browse('used')).messages.length, 1)
  })
})
