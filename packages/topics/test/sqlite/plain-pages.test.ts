/** Messages that have only a payload: a page takes their times and salts from its publishes, of which it mostly has two. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRange } from '../../src/stores/sqlite/log-rows.ts'
import { listening } from './listening.ts'

const plain = { payload: '1', type: null, key: null, headers: null, messageId: null }
/** Reads the time and the salt of every message. */
const OF_EVERY = /^select created_at, salt, payload from/

const pages: readonly (readonly [publishes: readonly number[], isCostly: boolean])[] = [
  [[6], false],
  [[1, 5], false],
  [[2, 4], false],
  [[3, 3], false],
  [[4, 2], false],
  [[5, 1], false],
  [[4, 5], false],
  [[1, 4, 1], true],
  [[3, 2, 1], true],
  [[1, 1, 1, 1, 1, 1], true],
]

describe('a page of plain messages', () => {
  for (const [publishes, isCostly] of pages) {
    it(`of publishes of ${publishes.join(', ')} messages has their salts, read ${isCostly ? 'one by one' : 'once each'}`, async () => {
      await using connection = await listening()
      const { store } = connection
      const topic = await store.topics.configure('events', { semantics: 'pub-sub' })
      const stored = []
      for (const size of publishes) stored.push(...(await store.log.publish(topic, new Array(size).fill(plain))))
      const read = readRange(connection, topic.id, { first: 1, last: stored.length, lastExtraId: 0 })
      const identities = stored.map(({ id, salt }) => ({ id, salt }))
      assert.deepEqual(
        read.map(({ id, salt }) => ({ id, salt })),
        identities,
      )
      assert.equal(
        [...connection.texts].some(text => OF_EVERY.test(text.trim().replace(/\s+/g, ' '))),
        isCostly,
      )
    })
  }
})
