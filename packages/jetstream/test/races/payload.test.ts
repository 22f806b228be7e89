/** Messages at the limit of the servers: `max_payload` has its default here. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { DatabaseError, PayloadTooLargeError } from 'tidemark'
import { skipWithoutNats } from '../../../../testing/nats-binary.ts'
import { startNats } from '../../../../testing/nats-server.ts'
import { claim, FAILED, message, onlyFull, openParts, servers } from '../parts.ts'

const LARGEST = 1_032_192

describe('a message at the limit of the servers', { skip: skipWithoutNats() }, () => {
  const { namespace } = servers()

  it('is delivered, retried and dead-lettered with long errors, and read again', { skip: onlyFull }, async () => {
    await using parts = await (await namespace()).open()
    const { store } = parts
    const topic = await store.topics.configure('work', {
      semantics: 'pub-sub',
      maxAttempts: 12,
      maxMessageBytes: 2 ** 21,
    })
    const group = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    // The record has a byte of flags; the entry a head and a length. Bytes that can't be compressed.
    const payload = Uint8Array.from(randomBytes(LARGEST - 17))
    const largest = { ...message(0), payload }
    await store.log.publish(topic, [largest])
    const error = { ...FAILED, message: 'x'.repeat(2_000) }
    for (let attempt = 1; attempt <= 12; attempt++) {
      const lease = await claim(parts, topic, group)
      assert.equal(lease?.messages[0]?.payload.length, payload.length)
      const nacks = [{ slot: 0, delayMs: 0, error }]
      const { token = '', size = 0 } = lease ?? {}
      const [result] = await store.leases.settle([{ token, size, maxAttempts: 12, acks: [], nacks, releases: [] }])
      assert.deepEqual(result?.deadLettered, attempt === 12 ? [0] : [])
    }
    const [letter] = await store.deadLetters.list(topic, { limit: 1 })
    assert.equal(letter?.message.payload.length, payload.length)
    assert.equal(letter?.attempts, 12)
    assert.ok(letter.history.length > 0 && letter.history.length < 12)
    assert.equal(letter.history.at(-1)?.attempt, 12)
  })

  it('may not be a byte longer; the error names the setting', async () => {
    await using parts = await (await namespace()).open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub', maxMessageBytes: 2 ** 21 })
    const publish = parts.store.log.publish(topic, [{ ...message(0), payload: new Uint8Array(LARGEST) }])
    await assert.rejects(publish, (error: Error) => {
      assert.ok(error instanceof PayloadTooLargeError)
      assert.match(error.message, /max_payload/)
      return true
    })
  })

  it('is one of several of a publish, which is stored as a whole', async () => {
    await using parts = await (await namespace()).open()
    const topic = await parts.store.topics.configure('work', { semantics: 'pub-sub', maxMessageBytes: 2 ** 21 })
    const group = await parts.store.subscriptions.subscribe(topic, 'g', 'beginning')
    const large = { ...message(0), payload: 'x'.repeat(700_000) }
    const results = await parts.store.log.publish(topic, [large, large, message(1), large])
    assert.equal(new Set(results.map(({ id }) => id)).size, 4)
    const lease = await claim(parts, topic, group)
    assert.deepEqual(
      lease?.messages.map(({ payload }) => payload.length),
      [700_000, 700_000, 1, 700_000],
    )
  })

  it('needs servers that take at least 1 MiB', async () => {
    await using small = await startNats({ settings: 'max_payload: 512KB' })
    const opening = openParts(small.url, 'n').then(parts => parts[Symbol.asyncDispose]())
    await assert.rejects(opening, (error: Error) => {
      assert.ok(error instanceof DatabaseError)
      assert.match(error.message, /524288.*1048576.*max_payload/s)
      return true
    })
  })
})
