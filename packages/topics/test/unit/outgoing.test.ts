import assert from 'node:assert/strict'
import { it } from 'node:test'
import { BatchTooLargeError, PayloadTooLargeError } from 'tidemark'
import { checkSize, toBatch } from '../../src/publish/outgoing.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

const MOST = 256 * 1024 ** 2

it('counts 64 bytes for each message of a batch beside its own', () => {
  const batchOf = (bytes: number) => {
    const large = { payload: new Uint8Array(bytes), type: null, key: null, headers: null, messageId: null }
    const small = { ...large, payload: '1', key: 'ä', headers: '{}' }
    return toBatch('work', [large, small], each => each)
  }
  const beside = 64 + 64 + 1 + 2 + 2
  assert.equal(batchOf(MOST - beside).length, 2)
  assert.throws(() => batchOf(MOST - beside + 1), BatchTooLargeError)
})

it('measures a message in bytes, not in characters', () => {
  const topic = { name: 'work', config: { maxMessageBytes: 10 } } as TopicRecord
  const message = { type: null, key: null, headers: null, messageId: null }
  checkSize(topic, { ...message, payload: 'aaaaaaaaaa' })
  checkSize(topic, { ...message, payload: '€€€' })
  assert.throws(() => checkSize(topic, { ...message, payload: '€€€€' }), PayloadTooLargeError)
})
