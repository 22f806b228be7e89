import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { collect } from '../../src/conformance/consuming.ts'
import { open, type PublishOptions } from '../../src/index.ts'
import { freshNamespace, quiet, server, useServer } from './store-bench.ts'

useServer()

const MESSAGES: readonly (readonly [payload: unknown, options?: PublishOptions])[] = [
  [{ a: [1, null, 'ä€😀'] }],
  ['', { key: 'k' }],
  [null, { headers: { h: '1' }, key: 'ü' }],
  [new Uint8Array([0, 255, 30])],
  [new Uint8Array(), { messageId: 'own-1' }],
  ['x'.repeat(100_000), { messageId: 'own-2', key: 'k', headers: { h: 'ä' } }],
]

describe('a message that is claimed alone', () => {
  it('is the same as one claimed together with others, whatever it contains', async () => {
    await using tm = await open(server.url, { namespace: freshNamespace(), logger: quiet, maintenance: false })
    await tm.configureTopic('events', { semantics: 'pub-sub' })
    const group = tm.consumerGroup('events', 'alone')
    const alone = collect(group)
    await group.start()
    for (const [index, [payload, options]] of MESSAGES.entries()) {
      await tm.publish('events', payload, options)
      await until(() => alone.length > index, { what: 'the message' })
    }
    const later = tm.consumerGroup('events', 'together')
    const together = collect(later)
    await later.start({ from: 'beginning' })
    await until(() => together.length === MESSAGES.length, { what: 'all messages' })
    const fieldsOf = (messages: typeof alone) =>
      messages.map(({ id, messageId, key, headers, payload, createdAt }) => ({
        id,
        messageId,
        key,
        headers,
        payload,
        createdAt,
      }))
    assert.deepEqual(fieldsOf(alone), fieldsOf(together))
  })
})
