import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import pg from 'pg'
import { open } from 'tidemark'
import { SKIPPED } from '../browser/browser.ts'
import { ENGINES, type Engine } from '../browser/engines.ts'
import { isShownLive } from '../browser/screens.ts'
import { SILENT, useSite } from '../browser/site.ts'

const TOPICS = 500
const GROUPS = 64
const AT_ONCE = 10

for (const engine of ENGINES) {
  describe(`a server with 500 topics of 64 groups each, on ${engine.name}`, { skip: SKIPPED }, () => {
    const site = useSite({}, engine)

    it('shows them all, stays quick to type in, and finds one', async t => {
      const names = Array.from({ length: TOPICS }, (_, n) => `topic-${String(n).padStart(3, '0')}`)
      for (let from = 0; from < TOPICS; from += AT_ONCE) {
        await Promise.all(
          names.slice(from, from + AT_ONCE).map(async name => {
            await site.tm.configureTopic(name, { semantics: 'pub-sub' })
            await site.tm.reader(name, { group: 'group-00' }).ready()
          }),
        )
      }
      await addGroups(engine, site.databaseUrl)
      for (const name of names) await site.tm.publish(name, { n: 1 })
      const page = await site.visit('/topics')
      await isShownLive(page)
      await page.getByText('topic-000').first().waitFor()
      await page.getByLabel('Filter topics').fill('topic-499')
      const row = page.locator('tbody tr', { hasText: 'topic-499' })
      await row.waitFor()
      // What waits for all groups of the topic.
      await row.getByText('64', { exact: true }).first().waitFor()
      await page.goto(new URL('/topics/topic-007', site.url).href)
      await page.getByText('group-63').first().waitFor()
      await page.goto(new URL('/', site.url).href)
      await isShownLive(page)
      await page.getByText(/Groups 32.000/).waitFor()
      const elements = await page.evaluate('document.querySelectorAll("*").length')
      assert.ok(Number(elements) < 20_000, `${elements} elements on the overview`)
      const overview = await (await fetch(new URL('/api/v1/overview', site.url))).text()
      t.diagnostic(`overview: ${(overview.length / 1e6).toFixed(2)} MB`)
      t.diagnostic(`one read of all figures: ${(await fastestRead(site.databaseUrl)).toFixed(0)} ms`)
    })
  })
}

/** By a program of its own each time: one that has just read answers from memory. */
async function fastestRead(url: string): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let time = 0; time < 5; time++) {
    await using tm = await open(url, { logger: SILENT, maintenance: false })
    const begun = performance.now()
    await tm.admin.stats()
    fastest = Math.min(fastest, performance.now() - begun)
  }
  return fastest
}

/** Every group of a topic but the first, as a copy of it: subscribing 32 000 of them takes minutes. */
async function addGroups({ name }: Engine, url: string): Promise<void> {
  const others = ['id', 'uid', 'group_name', 'bit']
  if (name === 'SQLite') {
    using database = new DatabaseSync(url.replace('sqlite:', ''))
    const columns = database
      .prepare(`select name from pragma_table_info('tidemark_subscription')`)
      .all()
      .flatMap(({ name: column }) => (others.includes(String(column)) ? [] : [column]))
    database.exec(`
      with recursive numbers as (select 1 as n union all select n + 1 from numbers where n < ${GROUPS - 1})
      insert into tidemark_subscription (group_name, ${columns.join()})
      select printf('group-%02d', n), ${columns.join()} from tidemark_subscription, numbers`)
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
    where table_schema = 'tidemark' and table_name = 'subscription' and column_name <> all($1)`,
    [others],
  )
  const columns = rows.map(row => row.name).join()
  await client.query(`
    insert into tidemark.subscription (group_name, ${columns})
    select 'group-' || lpad(n::text, 2, '0'), ${columns} from tidemark.subscription, generate_series(1, ${GROUPS - 1}) as n`)
  await client.end()
}
