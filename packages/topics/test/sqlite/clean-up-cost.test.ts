import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listening } from './listening.ts'

const message = { payload: '1', type: null, key: null, headers: null, messageId: null }

describe('Concern 5: Cleanup Job Performance at Scale', () => {
  it('no statement of a run scans the log: each finds its rows by their ids', async () => {
    await using connection = await listening()
    const { store } = connection
    const topic = await store.topics.configure('events', {
      semantics: 'pub-sub',
      leaseMs: 0,
      retentionMs: 1_000,
      maxRetentionMs: 2_000,
    })
    await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await store.log.publish(topic, new Array(2_000).fill(message))
    connection.exec(`update tidemark_log_${topic.id} set created_at = created_at - 5000`)
    connection.texts.clear()
    const { removed, lost } = await store.log.cleanUp(topic, 10_000)
    assert.deepEqual([removed, lost], [2_000, [{ group: 'g', count: 2_000 }]])
    const onLog = [...connection.texts].filter(text => text.includes(`tidemark_log_${topic.id}`))
    assert.equal(onLog.length, 2, onLog.join('\n'))
    for (const text of onLog) {
      for (const step of connection.plan(text)) assert.match(step, /USING INTEGER PRIMARY KEY/)
    }
  })
})
