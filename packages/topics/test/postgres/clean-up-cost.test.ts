import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { admin, type Bench, drain, messages, open, useServer } from './store-bench.ts'

useServer()

const HOUR = 3_600_000
const ROWS = 1_000

describe('Concern 5: Cleanup Job Performance at Scale', () => {
  it('reads a partition once, when it is sealed; after that a run reads hardly any row of the log', async () => {
    await using bench = await open({ retentionMs: HOUR, leaseMs: HOUR, partitionRows: ROWS })
    const { store, topic } = bench
    const fast = await store.subscriptions.subscribe(topic, 'fast', 'now')
    await store.subscriptions.subscribe(topic, 'slow', 'now')
    for (let n = 0; n < 6 * ROWS; n += 500) await store.log.publish(topic, messages(500, n))
    await drain(bench, fast, { limit: 1_000 })
    await until(async () => !(await store.log.cleanUp(topic, 10_000)).more && (await unsealed(bench)) === 0, {
      what: 'all to be sealed',
    })
    // Past its retention and held by one group; then done, and to be dropped.
    const { schema } = bench
    await admin.query(`update ${schema}.partition set newest = newest - interval '2 hours'`)
    assert.deepEqual(await rowsRead(bench), { dropped: null, isFew: true })
    await admin.query(`update ${schema}.subscription set status = 'CANCELLED' where group_name = 'slow'`)
    assert.deepEqual(await rowsRead(bench), { dropped: '0', isFew: true })
  })
})

async function unsealed({ schema }: Bench): Promise<number> {
  const { rows } = await admin.query(`select from ${schema}.partition where sealed_at is null`)
  return rows.length
}

/** What the decision of a run reads of the log, told by the server itself within the one transaction. */
async function rowsRead({ schema, functions, topic }: Bench): Promise<{ dropped: string | null; isFew: boolean }> {
  const client = await admin.connect()
  try {
    await client.query('begin')
    for (const stage of ['note_full', 'move_idle_windows', 'rotate']) {
      await client.query(`select ${functions}.${stage}(${topic.id})`)
    }
    const { rows: drop } = await client.query(`select number from ${functions}.begin_drop(${topic.id})`)
    const { rows } = await client.query(
      `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int as read
       from pg_stat_xact_user_tables where schemaname = $1 and relname like 'log\\_%'`,
      [schema],
    )
    // A look for the next row in each group's windows, and at the first of the newest partition.
    return { dropped: drop[0]?.number ?? null, isFew: rows[0].read <= 10 }
  } finally {
    await client.query('rollback')
    client.release()
  }
}
