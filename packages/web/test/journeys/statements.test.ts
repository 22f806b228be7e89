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
 * One read a second for all who watch, and a look at the health every five seconds, which takes some six statements; more often for
 * a topic in detail. PostgreSQL itself counts the transactions.
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
    const none = await measured(0)
    const one = await measured(1)
    const fifty = await measured(50)
    const detailedOne = await measured(1, 'topic:orders')
    const detailed = await measured(50, 'topic:orders')
    assert.ok(one - none <= 3.5, `${one} with one, ${none} with nobody`)
    assert.ok(fifty - one <= 1, `${fifty} with fifty, ${one} with one`)
    // A busy machine looks less often, so the two differ a little; fifty looks of their own would be four hundred.
    assert.ok(detailed - detailedOne <= 4, `${detailed} with fifty in detail, ${detailedOne} with one`)
    assert.ok(detailedOne - none <= 8, `${detailedOne} in detail, ${none} with nobody`)
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
