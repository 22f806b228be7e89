/** What the engine takes for granted of a NATS server, tried on the servers that the other tests use. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { parseAddress } from '../../src/nats/address.ts'
import { Client } from '../../src/nats/client.ts'
import { Conflict } from '../../src/nats/errors.ts'
import { topicKey } from '../../src/nats/names.ts'
import { beginBatches } from '../half-batches.ts'
import { claim, drain, EVERYTHING, isFull, message, NODES, onlyFull, publishNumbers, range, servers } from '../parts.ts'

const ROUNDS = isFull ? 500 : 60
const WRITERS = 6
const text = (value: string): Uint8Array => new TextEncoder().encode(value)

describe('a NATS server', { skip: skipWithoutNats() }, () => {
  const { cluster, namespace } = servers()
  const clients = async (count: number): Promise<Client[]> => {
    const address = parseAddress({ url: (await cluster()).url, option: 'url' })
    return await Promise.all(range(1, count).map(n => Client.connect(address, { timeoutMs: 10_000, name: `w${n}` })))
  }
  const stored = async (write: Promise<{ seq: number }>): Promise<number | null> => {
    try {
      return (await write).seq
    } catch (error) {
      if (error instanceof Conflict) return null
      throw error
    }
  }

  it('accepts one of several writes that expect the same sequence of a subject', async () => {
    const writers = await clients(WRITERS)
    const [first] = writers
    assert.ok(first)
    await first.streams.create({ name: 'CAS', subjects: ['cas.>'], replicas: NODES, last: true })
    let { seq } = await first.store([{ subject: 'cas.k', data: text('0'), expected: 0 }])
    for (let round = 0; round < ROUNDS; round++) {
      const write = { subject: 'cas.k', data: text(String(round)), expected: seq }
      const answers = await Promise.all(writers.map(each => stored(each.store([write]))))
      const winners = answers.filter(each => each !== null)
      assert.equal(winners.length, 1, `round ${round} had ${winners.length} winners`)
      seq = winners[0] ?? 0
    }
    await Promise.all(writers.map(each => each.close()))
  })

  it('stores a whole batch or nothing of it when several race for one document', async () => {
    const writers = await clients(WRITERS)
    const [first] = writers
    assert.ok(first)
    await first.streams.create({ name: 'ATOMIC', subjects: ['atomic.>'], replicas: NODES, last: true })
    let { seq } = await first.store([{ subject: 'atomic.doc', data: text('0'), expected: 0 }])
    const sides = new Set<string>()
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await Promise.all(
        writers.map((each, n) =>
          stored(
            each.store([
              { subject: `atomic.side.${round}.${n}`, data: text('side'), expected: 0 },
              { subject: 'atomic.doc', data: text(`${round}.${n}`), expected: seq },
            ]),
          ),
        ),
      )
      const winner = answers.findIndex(each => each !== null)
      assert.equal(answers.filter(each => each !== null).length, 1, `round ${round}`)
      sides.add(`atomic.side.${round}.${winner}`)
      seq = answers[winner] ?? 0
    }
    const { state } = await first.streams.info('ATOMIC', { subjects_filter: 'atomic.side.>' })
    assert.deepEqual(new Set(Object.keys(state.subjects ?? {})), sides)
    await Promise.all(writers.map(each => each.close()))
  })

  it('keeps nothing of a batch whose writer has gone, and others go on', async () => {
    const { open } = await namespace()
    await using parts = await open()
    const { store, ns } = parts
    const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await beginBatches((await cluster()).url, ns.names.entries(topicKey(topic)), 1)
    await publishNumbers(parts, topic, 1, 10)
    assert.deepEqual(await drain(parts, topic, group), range(1, 10))
  })

  // It takes the ten seconds after which a server forgets such batches.
  it('blocks for a while after many half-sent batches; in the end all is stored once', { skip: onlyFull }, async () => {
    const { open } = await namespace()
    await using parts = await open()
    const { store, ns } = parts
    const topic = await store.topics.configure('work', { semantics: 'pub-sub' })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    const key = topicKey(topic)
    for (const subject of [ns.names.entries(key), `${ns.names.group(key, group.id)}x`]) {
      await beginBatches((await cluster()).url, subject, 60)
    }
    const numbers = range(1, 50)
    // With messageIds, so that each publish is a batch.
    await store.log.publish(
      topic,
      numbers.map(n => message(n, `id-${n}`)),
    )
    const lease = await claim(parts, topic, group)
    assert.equal(lease?.size, 50)
    await store.subscriptions.resetCursor(topic, group, 'beginning', EVERYTHING)
    assert.deepEqual(await drain(parts, topic, group), numbers)
  })
})
