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
const MEASURED_MS = 10_000
/** One of each kind that was due just before the time began may fall into it. */
const AT_THE_EDGE = 2

/** Every ten seconds on the connection that listens, whether somebody watches or not. */
const KEEP_ALIVE = 'select 1'

/** Counts what the server sends, as it sends it: PostgreSQL itself reports transactions up to ten seconds late. */
class CountingClient extends Client {
  static sent = 0

  // biome-ignore lint/suspicious/noExplicitAny: `query` has ten overloads, and every one of them is counted.
  override query(...args: any[]): any {
    if (args[0] !== KEEP_ALIVE) CountingClient.sent++
    // biome-ignore lint/suspicious/noExplicitAny: as above
    return (super.query as (...all: any[]) => any)(...args)
  }
}

/**
 * One read a second for all who watch, and every fifth of them is a health check, which reads everything at once. A topic in detail is
 * looked at four times a second: three reads of its own, and the one of all topics.
 */
describe('the statements that watching costs', () => {
  it('are one a second, and four with a topic in detail, however many watch', async t => {
    await using database = await migratedDatabase()
    await using tm = await open(database.url, {
      logger: SILENT,
      maintenance: false,
      client: () => new CountingClient(database.url),
    })
    await tm.configureTopic('orders', { semantics: 'pub-sub' })
    await using server = await startServer({ port: 0, topics: tm, logger: SILENT })
    const url = server.url.replace(/\/$/, '')
    const measured = async (count: number, detail = ''): Promise<number> => {
      await using watchers = spawnScript(WATCHERS, [url, String(count), detail])
      await watchers.waitForLine('watching')
      // What a newcomer is told first.
      await delay(2_000)
      const before = CountingClient.sent
      const begun = performance.now()
      await delay(MEASURED_MS)
      const seconds = (performance.now() - begun) / 1000
      const sent = CountingClient.sent - before
      t.diagnostic(`${count} watching${detail && ` ${detail}`}: ${(sent / seconds).toFixed(2)} statements a second`)
      return (sent - AT_THE_EDGE) / seconds
    }
    for (const count of [1, 50]) {
      const plain = await measured(count)
      assert.ok(plain > 0 && plain <= 1.05, `${plain} statements a second with ${count} watching`)
      const detailed = await measured(count, 'topic:orders')
      assert.ok(detailed > plain && detailed <= 4.05, `${detailed} statements a second with a topic in detail`)
    }
  })
})
