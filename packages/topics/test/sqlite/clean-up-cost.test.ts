import assert from 'node:assert/strict'
import type { StatementSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { cleanUp } from '../../src/stores/sqlite/clean-up.ts'
import { Connection, rowsOf } from '../../src/stores/sqlite/connection.ts'
import { migrate } from '../../src/stores/sqlite/migrate.ts'
import { insertMessages } from '../../src/stores/sqlite/publish.ts'
import { subscribe } from '../../src/stores/sqlite/subscriptions.ts'
import { configureTopic } from '../../src/stores/sqlite/topics.ts'

/** Keeps the text of every statement that was prepared. */
class Listening extends Connection {
  readonly texts = new Set<string>()

  override prepare(sql: string): StatementSync {
    this.texts?.add(sql)
    return super.prepare(sql)
  }
}

const message = { payload: '1', type: null, key: null, headers: null, messageId: null }

describe('Concern 5: Cleanup Job Performance at Scale', () => {
  it('no statement of a run scans the log: each finds its rows by their ids', async () => {
    using folder = temporaryFolder()
    const connection = new Listening({ path: `${folder.path}/app.db`, durability: 'process', busyTimeoutMs: 1_000 })
    try {
      await connection.prepareForUse()
      await migrate(connection)
      const topic = await configureTopic(connection, 'events', {
        semantics: 'pub-sub',
        leaseMs: 0,
        retentionMs: 1_000,
        maxRetentionMs: 2_000,
      })
      await subscribe(connection, topic, 'g', 'beginning')
      await connection.write(false, () =>
        insertMessages(sql => connection.prepare(sql), topic, new Array(2_000).fill(message)),
      )
      connection.exec(`update tidemark_log_${topic.id} set created_at = created_at - 5000`)
      connection.texts.clear()
      const { removed, lost } = await cleanUp(connection, topic, 10_000)
      assert.deepEqual([removed, lost], [2_000, [{ group: 'g', count: 2_000 }]])
      const onLog = [...connection.texts].filter(text => text.includes(`tidemark_log_${topic.id}`))
      assert.equal(onLog.length, 2, onLog.join('\n'))
      for (const text of onLog) {
        const plan = rowsOf<{ detail: string }>(connection.prepare(`explain query plan ${text}`))
        assert.ok(
          plan.every(({ detail }) => detail.includes('USING INTEGER PRIMARY KEY')),
          plan.map(({ detail }) => detail).join('\n'),
        )
      }
    } finally {
      await connection.close()
    }
  })
})
