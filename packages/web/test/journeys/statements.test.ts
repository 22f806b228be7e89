import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startServer } from '@tidemark/server'
import { Client } from 'pg'
import { open } from 'tidemark'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { SILENT } from '../browser/site.ts'

const WATCHERS = new URL('../browser/scripts/watchers.ts', import.meta.url)
const MEASURED_MS = 12_000

/**
 * One read a second for all who watch, and every fifth of them is a health check, which reads everything at once. Four more for a
 * topic in detail. PostgreSQL itself counts the transactions.
 */
describe('the statements that watching costs', () => {
  it('do not grow with the number of those who watch', async t => {
    await using database = await migratedDatabase()
    await using tm = await open(database.url, { logger: SILENT, maintenance: false })
    await tm.configureTopic('orders', { semantics: 'pub-sub' })
    await using server = await startServer({ port: 0, topics: tm, logger: SILENT })
    const url = server.url.replace(/\/$/, '')
    const measured = async (count: number, detail = ''): Promise<number> => {
      await using watchers = spawnScript(WATCHERS, [url, String(count), detail])
      if (count > 0) await watchers.waitForLine('watching')
      await delay(2_000)
      const before = await transactionsOf(database)
      await delay(MEASURED_MS)
      const perSecond = ((await transactionsOf(database)) - before) / (MEASURED_MS / 1000)
      t.diagnostic(`${count} watching${detail && ` ${detail}`}: ${perSecond.toFixed(2)} transactions a second`)
      return perSecond
    }
    await measured(0)
    const one = await measured(1)
    const fifty = await measured(50)
    const detailedOne = await measured(1, 'topic:orders')
    const detailed = await measured(50, 'topic:orders')
    // A busy machine looks less often. A session reports what it has done up to ten seconds later, hence the rest.
    for (const perSecond of [one, fifty]) assert.ok(perSecond <= 1.8, `${perSecond} transactions a second`)
    for (const perSecond of [detailedOne, detailed]) {
      assert.ok(perSecond <= 5.8, `${perSecond} transactions a second with a topic in detail`)
    }
  })
})

/** Asked from another database, so that asking is not counted. */
async function transactionsOf({ url, name }: { url: string; name: string }): Promise<number> {
  const other = new URL(url)
  other.pathname = 'postgres'
  const client = new Client({ connectionString: other.href })
  await client.connect()
  const { rows } = await client.query('select xact_commit from pg_stat_database where datname = $1', [name])
  await client.end()
  return Number(rows[0]?.xact_commit)
}
