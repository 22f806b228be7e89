/** What a bitmap costs, in statements and rows: these tests read plans and row versions, which only an engine's own SQL shows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { range } from '../../src/conformance/consuming.ts'
import { openStore } from '../../src/conformance/open-store.ts'
import { three, unfinished, Work } from '../../src/conformance/reference.ts'
import { SECLUDED_STORES, type TestDatabase } from './stores.ts'

for (const engine of SECLUDED_STORES) {
  describe(`a publish on ${engine.name}`, () => {
    it('has no trigger: one sub-select per statement, however many messages it stores', async () => {
      await using database = await engine.fresh()
      await using store = await openStore(database)
      const work = await three(await Work.on(store))
      await work.publish(500)
      const triggers = await database.execute({
        sqlite: "select name from sqlite_schema where type = 'trigger'",
        postgres: 'select tgname from pg_trigger where not tgisinternal',
      })
      assert.deepEqual(triggers, [])
      assert.deepEqual(await subSelects(database, work, 500), 1)
      for (const { required } of (await work.completion()).values()) assert.equal(required, 'analytics,email,inventory')
    })
  })

  describe(`settling on ${engine.name}`, () => {
    it('writes one row per message and group, in one statement per page, and none for repeated settlements', async () => {
      await using database = await engine.fresh()
      await using store = await openStore(database)
      const work = await three(await Work.on(store))
      await work.publish(200)
      const leases = []
      for (const group of ['email', 'analytics', 'inventory']) leases.push(await work.claim(group, 200))
      const settlements = leases.map(lease => ({
        ...{ token: lease?.token ?? '', size: 200, maxAttempts: 5 },
        ...{ acks: 'all' as const, nacks: [], releases: [] },
      }))
      const before = await trackWrites(database, work)
      await store.leases.settle(settlements)
      const written = (await trackWrites(database, work)) - before
      // PostgreSQL makes the bits of all groups of one settlement one update.
      if (engine.name === 'PostgreSQL') assert.equal(written, 200)
      await store.leases.settle(settlements)
      assert.equal((await trackWrites(database, work)) - before, written)
      assert.equal(await unfinished(work), 0)
    })
  })

  describe(`the table of bitmaps on ${engine.name}`, () => {
    it('keeps one narrow row per message, however many groups there are', async () => {
      await using database = await engine.fresh()
      await using store = await openStore(database)
      const work = await Work.on(store)
      const names = range(1, 50).map(number => `g${number}`)
      for (const name of names) await work.subscribe(name)
      await work.publish(20)
      for (const name of names) await work.drain(name)
      const id = work.topic.id
      const [row] = await database.execute({
        sqlite: `select count(*) as rows from tidemark_track_${id}`,
        postgres: `select count(*)::int as rows from tidemark.track_${id}`,
      })
      assert.equal(row?.rows, 20)
      assert.equal(await unfinished(work), 0)
    })
  })
}

/** Number of times that a publish of this many messages reads the subscriptions. */
async function subSelects(database: TestDatabase, work: Work, count: number): Promise<number> {
  if (database.url.startsWith('sqlite:')) {
    const { requireBitsText } = await import('../../src/stores/sqlite/bits.ts')
    const plan = await database.execute({ sqlite: `explain query plan ${requireBitsText(work.topic)}`, postgres: '' })
    const steps = plan.map(row => String(row.detail))
    assert.ok(
      steps.some(detail => /MATERIALIZE live/.test(detail)),
      steps.join('\n'),
    )
    return steps.filter(detail => /tidemark_subscription/.test(detail)).length
  }
  const { publishText } = await import('../../src/stores/postgres/publish-statements.ts')
  const text = publishText(work.topic)
    .replace('$1::bytea[]', `array_fill('1'::bytea, array[${count}])`)
    .replaceAll(/\$[234]::text\[\]/g, `array_fill(null::text, array[${count}])`)
    .replace('$5::bigint', '1')
    .replaceAll('$6::int', String(count - 1))
  const plan = await database.execute({ sqlite: '', postgres: `explain (analyze, format json) ${text}` })
  const [explained] = plan.flatMap(row => row['QUERY PLAN'] as { Plan: PlanNode }[])
  const nodes = flatten(explained?.Plan)
  const reads = nodes.filter(node => node['Relation Name'] === 'subscription')
  return reads.reduce((sum, node) => sum + node['Actual Loops'], 0)
}

type PlanNode = { 'Relation Name'?: string; 'Actual Loops': number; Plans?: PlanNode[] }

const flatten = (node: PlanNode | undefined): PlanNode[] =>
  node === undefined ? [] : [node, ...(node.Plans ?? []).flatMap(flatten)]

/** Rows of the bitmap table written so far, as the engine itself counts them; SQLite does not, so by their content. */
async function trackWrites(database: TestDatabase, work: Work): Promise<number> {
  const table = `track_${work.topic.id}`
  const [row] = await database.execute({
    sqlite: `select sum((completed & 1) + (completed >> 1 & 1) + (completed >> 2 & 1)) as written from tidemark_${table}`,
    postgres: `
      select sum((select count(*) from tidemark.${table} as t where t.xmin::text <> t.xid::text))::int as written`,
  })
  return Number(row?.written)
}
