import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { DatabaseSync as Database } from 'node:sqlite'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { isLong } from '../../../../testing/long.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { describeTopic } from '../../src/stores/sqlite/describe.ts'
import type { SqliteStatement } from '../../src/stores/sqlite/driver.ts'
import { examine } from '../../src/stores/sqlite/examine.ts'
import { findTopic } from '../../src/stores/sqlite/topic-rows.ts'

/** Notes what is asked of the database. */
class ListeningConnection extends Connection {
  readonly statements = new Set<string>()

  override prepare(sql: string): SqliteStatement {
    this.statements.add(sql)
    return super.prepare(sql)
  }
}

const MESSAGES = isLong ? 5_000_000 : 100_000

function fillLog(db: DatabaseSync): void {
  db.exec(`
    pragma synchronous = off;
    begin immediate;
    with recursive n (i) as (select 1 union all select i + 1 from n where i < ${MESSAGES})
    insert into tidemark_log_1 (id, created_at, payload) select i, 1700000000000 + i / 100, '1' from n;
    update tidemark_topic set next_id = ${MESSAGES} + 1, last_created_at = 1700000000000 + ${MESSAGES} / 100;
    commit`)
}

describe('looking at a topic of millions of messages', () => {
  it('scans nothing of the log', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await open(`sqlite:${path}`)
    await tm.configureTopic('events', { semantics: 'pub-sub' })
    const db = new Database(path)
    try {
      fillLog(db)
      for (let n = 0; n < 64; n++) {
        await tm.reader('events', { group: `group-${n}`, from: n % 2 === 0 ? 'beginning' : 'now' }).ready()
      }
      const groups = await tm.admin.groups('events')
      assert.equal(groups.length, 64)
      assert.deepEqual([...new Set(groups.map(({ lagMessages }) => lagMessages))].sort(), [0, MESSAGES])

      const connection = new ListeningConnection({ path, durability: 'process', busyTimeoutMs: 5_000 })
      await connection.prepareForUse()
      const topic = findTopic(connection, 'events')
      assert.ok(topic)
      connection.statements.clear()
      describeTopic(connection, topic)
      assert.deepEqual(inconsistenciesOf(connection), [])
      const ofLog = [...connection.statements].filter(sql => sql.includes('tidemark_log_1'))
      assert.ok(ofLog.length >= 2)
      const plans = [...connection.statements].flatMap(sql =>
        db
          .prepare(`explain query plan ${sql}`)
          .all()
          .map(({ detail }) => String(detail)),
      )
      // The lowest and the highest id are looked up, whatever the plan calls it.
      const scans = plans.filter(detail => detail.startsWith('SCAN tidemark_log'))
      assert.deepEqual(scans, [])
      await connection.close()
    } finally {
      db.close()
    }
  })
})

describe('an inconsistency', () => {
  it('is reported: a cursor beyond the log, inconsistent ids, a retry held by an ended lease', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await open(`sqlite:${path}`)
    await tm.configureTopic('events', { semantics: 'pub-sub' })
    await tm.reader('events', { group: 'g' }).ready()
    await tm.publishBatch('events', [1, 2, 3])
    const connection = new Connection({ path, durability: 'process', busyTimeoutMs: 5_000 })
    await connection.prepareForUse()
    const topic = findTopic(connection, 'events')
    assert.ok(topic)
    assert.deepEqual(inconsistenciesOf(connection), [])
    connection.exec(`
      update tidemark_subscription set cursor = 9;
      delete from tidemark_log_1 where id = 1;
      insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history, token, slot)
      values (1, 2, 1, 1, 0, 0, '[]', 'gone', 0), (1, 7, 1, 1, 0, 0, '[]', null, null)`)
    assert.deepEqual(inconsistenciesOf(connection), [
      'the log has messages 2 to 3, and should have 1 to 3',
      "group 'g' has a cursor beyond the last message",
      "group 'g' has a retry of message 7, which was never published",
      "message 2 of group 'g' is held by a lease that has ended",
    ])
    await connection.close()
  })
})

const inconsistenciesOf = (connection: Connection): readonly string[] =>
  examine(connection, 10).facts.flatMap(({ inconsistencies }) => inconsistencies)
