/** The specification's scenarios, pitfalls and concerns about reference tracking, backfill and its resumption. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { BackfillError } from 'tidemark'
import { until } from '../../../../../testing/until.ts'
import { range } from '../consuming.ts'
import { die, openStore, orphanBackfills, resurrect, Work } from '../reference.ts'
import { SECLUDED_STORES, type TestDatabase } from '../stores.ts'

for (const engine of SECLUDED_STORES) {
  describe(engine.name, () => {
    describe('Critical Gap 1: message completion logic for fan-out', () => {
      it('scenario 1: a group that dies after a message was published no longer holds it', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(3)
        await work.drain('email')
        await work.drain('analytics')
        assert.equal(await unfinished(work), 3)
        await die(database, work, 'inventory')
        await cleared(work)
        assert.equal(await unfinished(work), 0)
        assert.deepEqual([...(await work.completion()).values()], new Array(3).fill(done('analytics,email')))
      })

      it('scenario 2: a group that joins with a backfill of what is pending makes only what is not completed its own', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.subscribe('email')
        await work.subscribe('analytics')
        await work.publish(2)
        await work.drain('email')
        await work.drain('analytics')
        const open = await work.publish(2)
        await work.subscribe('inventory', 'beginning', { scope: 'pending' })
        await work.backfill('inventory')
        const rows = [...(await work.completion()).values()]
        assert.deepEqual(rows.slice(0, 2), new Array(2).fill(done('analytics,email')))
        assert.deepEqual(rows.slice(2), new Array(2).fill({ required: 'analytics,email,inventory', completed: '' }))
        assert.deepEqual(await work.drain('inventory'), open)
      })
    })

    describe('Open Question 2: backfill performance and limits', () => {
      it('goes in batches of their own transactions, and no further back than its limit', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(1_000)
        await work.subscribe('late', 'beginning', { maxMessages: 250 })
        const { id } = work.group('late')
        const token = '00000000-0000-4000-8000-000000000001'
        await store.backfills.take(token, 60_000, work.group('late'))
        const checkpoints: number[] = []
        for (;;) {
          const record = await store.backfills.runBatch(id, { token, limit: 100, ttlMs: 60_000 })
          assert.ok(record !== 'lost')
          checkpoints.push(record.checkpointId)
          if (record.status === 'COMPLETED') break
        }
        assert.deepEqual(checkpoints, [850, 950, 1_000])
        assert.deepEqual(await work.drain('late', 500), range(751, 1_000))
      })
    })

    describe('Question 3: the resumable backfill', () => {
      it('goes on from its checkpoint after a crash, without counting a message twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(100)
        await work.subscribe('late', 'beginning')
        for (const batches of [1, 2, 3]) {
          await work.backfill('late', 10, batches)
          await orphanBackfills(database)
        }
        const record = await work.backfill('late', 10)
        assert.ok(record !== 'lost')
        assert.equal(record.processed, 100)
        assert.deepEqual(await work.drain('late'), range(1, 100))
      })

      it('is cancelled and resumed without harm to what it had done', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(30)
        await work.subscribe('late', 'beginning')
        await work.backfill('late', 10, 1)
        await store.backfills.setStatus(work.topic, work.group('late'), 'CANCELLED')
        assert.equal((await store.backfills.find(work.group('late')))?.checkpointId, 10)
        assert.equal(await store.backfills.take('00000000-0000-4000-8000-000000000001', 1_000), null)
        await store.backfills.setStatus(work.topic, work.group('late'), 'RUNNING')
        await work.backfill('late')
        assert.deepEqual(await work.drain('late'), range(1, 30))
      })

      it('covers nothing that is published after it began', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(5)
        await work.subscribe('late', 'beginning')
        await work.publish(5)
        const record = await work.backfill('late')
        assert.ok(record !== 'lost')
        assert.deepEqual([record.upperId, record.processed], [5, 5])
        assert.deepEqual(
          (await work.drain('late')).sort((a, b) => a - b),
          range(1, 10),
        )
      })
    })

    describe('Pitfall 1: a message is inserted during dead detection', () => {
      it('does not require the dead group, whether its bits are cleared yet or not', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(1)
        await die(database, work, 'inventory')
        await work.publish(1)
        assert.equal((await work.completion()).get(2)?.required, 'analytics,email')
        await cleared(work)
        const required = [...(await work.completion()).values()].map(row => row.required)
        assert.deepEqual(required, ['analytics,email', 'analytics,email'])
      })
    })

    describe('Pitfall 5: the clean-up job itself crashes mid-execution', () => {
      it('is simply gone on with: every message is cleared, and none twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(20)
        await die(database, work, 'inventory')
        const first = await until(async () => (await store.tracking.clearBits(7)).cleared, { what: 'the first page' })
        // The process is killed here. Another one runs the job.
        await using other = await openStore(database)
        const rest = await new Work(other, work.topic).clearAll(7)
        assert.equal(first + rest, 20)
        for (const { required } of (await work.completion()).values()) assert.equal(required, 'analytics,email')
        assert.deepEqual(await store.tracking.clearBits(7), { cleared: 0, more: false })
      })
    })

    describe('Pitfall 6: a group is dead but its messages are in flight', () => {
      it('counts what it had processed, and delivers the rest once more when it comes back', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        const flying = await work.claim('inventory', 10)
        assert.ok(flying)
        const { token, size } = flying
        const acks = range(0, 4)
        await store.leases.settle([{ token, size, maxAttempts: 5, acks, nacks: [], releases: [] }])
        await die(database, work, 'inventory')
        await database.expireLeases()
        await cleared(work)
        const own = [...(await work.completion())].filter(([, row]) => row.required.includes('inventory'))
        assert.deepEqual(
          own.map(([id]) => id),
          range(1, 5),
        )
        await work.publish(2)
        await resurrect(work, 'inventory')
        await work.backfill('inventory')
        assert.deepEqual(
          (await work.drain('inventory')).sort((a, b) => a - b),
          range(6, 12),
        )
        const late = await store.leases.settle([{ token, size, maxAttempts: 5, acks: 'all', nacks: [], releases: [] }])
        assert.deepEqual(late[0]?.stale, range(5, 9))
        assert.equal(await unfinishedOf(work, 'inventory'), 0)
      })
    })

    describe('Pitfall 7: thundering herd on consumer group resurrection', () => {
      it('gives the group what it missed, once, however many of its processes come back at once', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        await die(database, work, 'inventory')
        await cleared(work)
        const missed = await work.publish(10)
        await resurrect(work, 'inventory')
        const runs = await Promise.all(range(1, 10).map(() => work.backfill('inventory', 6)))
        assert.equal(runs.filter(run => run !== 'lost').length, 1)
        const after = await work.publish(1)
        const got = (await Promise.all(range(1, 5).map(() => work.drain('inventory', 3)))).flat()
        assert.deepEqual(
          got.sort((a, b) => a - b),
          [...range(1, 10), ...missed, ...after],
        )
      })
    })

    describe('Concern 2: trigger performance on message insert', () => {
      it('has no trigger: one sub-select a statement, however many messages it brings', async () => {
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
        for (const { required } of (await work.completion()).values())
          assert.equal(required, 'analytics,email,inventory')
      })
    })

    describe('Concern 4: message completion write amplification', () => {
      it('writes one row a message and group, in one statement a page, and none for what is settled again', async () => {
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

    describe('Concern 7: a table with a row a message and group', () => {
      it('keeps one narrow row a message, however many groups there are', async () => {
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

    describe('Critical: kill-and-resurrect', () => {
      it('frees what waited for the dead group, and brings it back with a bounded backfill', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store))
        await work.publish(10)
        for (const group of ['email', 'analytics', 'inventory']) await work.drain(group)
        const missed = await work.publish(300)
        await die(database, work, 'inventory')
        missed.push(...(await work.publish(600)))
        await cleared(work)
        for (const group of ['email', 'analytics']) assert.equal((await work.drain(group, 500)).length, 900)
        assert.equal(await unfinished(work), 0)
        await resurrect(work, 'inventory', 100)
        const record = await work.backfill('inventory')
        assert.ok(record !== 'lost')
        assert.equal(record.processed, 100)
        const [next] = await work.publish(1)
        const got = await work.drain('inventory', 500)
        assert.deepEqual(
          got.sort((a, b) => a - b),
          [...missed.slice(-100), next],
        )
        for (const group of ['email', 'analytics']) assert.deepEqual(await work.drain(group), [next])
        assert.equal(await unfinished(work), 0)
      })
    })

    describe('Critical: backfill vs OLTP contention', () => {
      it('lets publishes and claims through between any two batches', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.subscribe('email')
        await work.publish(500)
        await work.subscribe('late', 'beginning')
        const backfill = work.backfill('late', 20)
        let published = 0
        let consumed = 0
        let isOver = false
        backfill.then(() => {
          isOver = true
        })
        while (!isOver) {
          published += (await work.publish(1)).length
          await turn()
          const lease = await work.claim('email', 10)
          consumed += lease?.messages.length ?? 0
          if (lease) await work.ack(lease)
        }
        assert.ok(published > 0 && consumed > 0)
        const got = await work.drain('late')
        assert.deepEqual(
          got.sort((a, b) => a - b),
          range(1, 500 + published),
        )
      })
    })

    describe('Migration between modes', () => {
      it('goes both ways while groups run, losing nothing and delivering nothing twice', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await three(await Work.on(store, { tracking: 'offset' }))
        const got = new Map<string, number[]>(['email', 'analytics', 'inventory'].map(name => [name, []]))
        let isOver = false
        const consumers = [...got].map(async ([name, ids]) => {
          while (!isOver) {
            const lease = await work.claim(name, 20)
            await turn()
            if (lease === null) continue
            ids.push(...lease.messages.map(({ id }) => id))
            await work.ack(lease)
          }
          ids.push(...(await work.drain(name)))
        })
        let published = 0
        const publisher = (async () => {
          while (!isOver) {
            published += (await work.publish(5)).length
            await turn()
          }
        })()
        for (const tracking of ['reference', 'offset', 'reference'] as const) {
          await work.switchTo(tracking)
          while (await store.tracking.fill(work.topic, 50));
          const soFar = published
          await until(() => published > soFar + 20, { what: 'messages after the switch' })
        }
        isOver = true
        await publisher
        await Promise.all(consumers)
        for (const ids of got.values()) {
          assert.equal(new Set(ids).size, ids.length)
          assert.equal(ids.length, published)
        }
        await until(async () => !(await store.tracking.fill(work.topic, 50)) && (await isFilled(database)), {
          what: 'the bitmaps to be filled',
        })
        assert.equal(await unfinished(work), 0)
      })

      it('is refused while a backfill runs', async () => {
        await using database = await engine.fresh()
        await using store = await openStore(database)
        const work = await Work.on(store)
        await work.publish(3)
        await work.subscribe('late', 'beginning')
        await assert.rejects(work.switchTo('offset'), BackfillError)
      })
    })
  })
}

async function three(work: Work): Promise<Work> {
  for (const name of ['email', 'analytics', 'inventory']) await work.subscribe(name)
  return work
}

const done = (groups: string) => ({ required: groups, completed: groups })

async function unfinished(work: Work): Promise<number> {
  return (await work.store.tracking.completion(work.topic, { after: 0, limit: 10_000, unfinished: true })).length
}

async function unfinishedOf(work: Work, group: string): Promise<number> {
  const rows = await work.store.tracking.completion(work.topic, { after: 0, limit: 10_000, unfinished: true })
  return rows.filter(({ required, completed }) => required.includes(group) && !completed.includes(group)).length
}

/** Transactions of other tests on the server may have to end first. */
async function cleared(work: Work): Promise<void> {
  await until(() => work.clearAll(), { what: 'the bits to be cleared' })
}

async function isFilled(database: TestDatabase): Promise<boolean> {
  const [row] = await database.execute({
    sqlite: 'select fill_next_id is null as filled from tidemark_topic',
    postgres: 'select (fill_next_id is null)::int as filled from tidemark.topic',
  })
  return row?.filled === 1
}

/** How often a publish of so many messages reads the subscriptions. */
async function subSelects(database: TestDatabase, work: Work, count: number): Promise<number> {
  if (database.url.startsWith('sqlite:')) {
    const { requireBitsText } = await import('../../../src/stores/sqlite/bits.ts')
    const plan = await database.execute({ sqlite: `explain query plan ${requireBitsText(work.topic)}`, postgres: '' })
    const steps = plan.map(row => String(row.detail))
    assert.ok(
      steps.some(detail => /MATERIALIZE live/.test(detail)),
      steps.join('\n'),
    )
    return steps.filter(detail => /tidemark_subscription/.test(detail)).length
  }
  const { publishText } = await import('../../../src/stores/postgres/publish.ts')
  const values = `array_fill('1'::bytea, array[${count}]), array_fill(null::text, array[${count}])`
  const text = publishText(work.topic)
    .replace('$1::bytea[], $2::text[]', values)
    .replaceAll(/\$[34]::text\[\]/g, `array_fill(null::text, array[${count}])`)
    .replace('$5::bigint', '1')
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
