import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { open as openTidemark, type StoredMessage } from 'tidemark'
import { isLong } from '../../../../testing/long.ts'
import { until } from '../../../../testing/until.ts'
import { admin, type Bench, message, messages, open, quiet, server, useServer } from './store-bench.ts'

useServer()

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: Plan[]
}

/** Every node on the log of every statement that ran inside this one, as the server executed it. */
const logNodesOf = async (statement: string): Promise<Plan[]> => (await logReadsOf(statement)).flat()

/** The same, by the statement that read it; those that read no log are left out. */
async function logReadsOf(statement: string): Promise<Plan[][]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const reads: Plan[][] = []
  const nodesIn = (plan: Plan): Plan[] => [
    ...(plan['Relation Name']?.startsWith('log_') ? [plan] : []),
    ...(plan.Plans ?? []).flatMap(nodesIn),
  ]
  client.on('notice', ({ message: text }) => {
    const json = text?.slice(text.indexOf('{'))
    const nodes = text?.includes('plan:') && json ? nodesIn((JSON.parse(json) as { Plan: Plan }).Plan) : []
    if (nodes.length > 0) reads.push(nodes)
  })
  try {
    await client.query("load 'auto_explain'")
    for (const setting of [
      'log_min_duration = 0',
      'log_nested_statements = on',
      'log_analyze = on',
      'log_timing = off',
      'log_format = json',
    ]) {
      await client.query(`set auto_explain.${setting}`)
    }
    await client.query('set client_min_messages = log')
    await client.query(statement)
    return reads
  } finally {
    await client.end()
  }
}

const rowsRead = (nodes: readonly Plan[]): number =>
  nodes.reduce((sum, node) => sum + (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1), 0)

/** Into the log at once, by many transactions' worth of ids; its indexes are made anew afterwards, which takes half the time. */
async function fillLog({ schema, functions, topic }: Bench, rows: number): Promise<void> {
  await admin.query(`select ${functions}.add_partitions($1, $2, $3)`, [topic.id, topic.config.partitionRows, rows])
  const { rows: indexes } = await admin.query<{ name: string; definition: string }>(
    'select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = $1::regclass',
    [`${schema}.log_${topic.id}`],
  )
  for (const { name } of indexes) await admin.query(`drop index ${name}`)
  for (let from = 1; from <= rows; from += 500_000) {
    const to = Math.min(rows, from + 499_999)
    await admin.query(
      `insert into ${schema}.log_${topic.id} (id, payload) select i, '1' from generate_series(${from}, ${to}) as i`,
    )
  }
  for (const { definition } of indexes) await admin.query(definition.replace(' ON ONLY ', ' ON '))
  await admin.query(`select setval('${schema}.log_${topic.id}_id', ${rows})`)
}

/** More than a partition holds. */
const MANY = isLong ? 5_000_000 : 300_000
const PARTITION_ROWS = isLong ? 1_000_000 : 200_000
const MIDDLE = MANY / 2

describe('looking at a topic of millions of messages', () => {
  it('reads only a few rows of the log per group, by index', async () => {
    await using bench = await open({ partitionRows: PARTITION_ROWS })
    const { store, functions, topic } = bench
    const early = await store.subscriptions.subscribe(topic, 'group-00', 'beginning')
    await fillLog(bench, MANY)
    for (let n = 1; n < 64; n++) {
      await store.subscriptions.subscribe(
        topic,
        `group-${String(n).padStart(2, '0')}`,
        n % 2 === 0 ? 'beginning' : 'now',
      )
    }
    await store.log.publish(topic, messages(10))
    assert.ok(early.id > 0)

    const { groups } = await store.inspection.describe(topic)
    assert.equal(groups.length, 64)
    for (const [n, group] of groups.entries()) {
      if (n % 2 === 1) assert.equal(group.backlog, 10)
      else assert.ok(Math.abs(group.backlog - MANY) <= 100_000, `backlog ${group.backlog}`)
      assert.ok(group.oldestWaitingAt !== null)
    }
    const described = await logNodesOf(`select * from ${functions}.describe_groups(array[${topic.id}], 1000, null)`)
    // One statement for all of them: planning one for each took longer than all the rest.
    assert.ok(described.length > 0 && described.length <= 20, `${described.length} scans`)
    const types = new Set(described.map(node => node['Node Type']))
    assert.deepEqual(
      [...types].filter(type => !/^Index (Only )?Scan$/.test(type)),
      [],
    )
    assert.ok(rowsRead(described) <= 11_000, `${rowsRead(described)} rows of the log`)
    const stats = await logNodesOf(`select * from ${functions}.stats(1000, 10000, true)`)
    assert.ok(stats.length > 0 && stats.length <= 20, `${stats.length} scans`)
    assert.ok(rowsRead(stats) <= 11_000, `${rowsRead(stats)} rows of the log`)

    const examined = await logNodesOf(`select * from ${functions}.examine(1000, 10000)`)
    assert.ok(examined.length > 0 && examined.length <= 30, `${examined.length} scans`)
    assert.ok(rowsRead(examined) <= 12_000, `${rowsRead(examined)} rows of the log`)
    assert.deepEqual(await inconsistenciesOf(store), [])

    const page = await store.log.browse(topic, { after: MIDDLE, newestFirst: false, limit: 10 })
    assert.deepEqual(
      page.messages.map(({ id }) => id),
      Array.from({ length: 10 }, (_, n) => MIDDLE + 1 + n),
    )
    for (const bounds of ['null, null', '1000000, 100000']) {
      const range = `${MIDDLE + 1}, ${MIDDLE + 10_000}`
      const browsed = await logNodesOf(
        `select * from ${functions}.browse(${topic.id}, ${range}, null, null, 'k', false, null, false, 10, ${bounds}, true)`,
      )
      assert.ok(browsed.length > 0 && browsed.every(node => node['Node Type'] === 'Index Scan'), bounds)
    }
  })
})

describe('looking at many topics', () => {
  const TOPICS = 12

  it('reads the logs of all topics that are behind in one statement', async () => {
    await using bench = await open()
    const { store, functions } = bench
    for (let number = 0; number < TOPICS; number++) {
      const topic = await store.topics.configure(`topic-${number}`, { semantics: 'pub-sub' })
      for (const group of ['one', 'other']) await store.subscriptions.subscribe(topic, group, 'now')
      await store.log.publish(topic, messages(number))
    }
    const reads = await logReadsOf(`select * from ${functions}.stats(1000, 10000, false)`)
    // A topic without messages is not behind.
    assert.deepEqual(
      reads.map(nodes => nodes.length),
      [TOPICS - 1],
    )
    const { topics } = await store.inspection.stats(1_000, false)
    assert.deepEqual(
      topics
        .filter(({ topic }) => topic !== 'topic')
        .map(({ topic, groups }) => [topic, ...groups.map(each => each.backlog)]),
      Array.from({ length: TOPICS }, (_, number) => [`topic-${number}`, number, number]).toSorted(([one], [other]) =>
        String(one) < String(other) ? -1 : 1,
      ),
    )
  })
})

describe('a tail', () => {
  it('misses nothing and repeats nothing, in whatever order transactions commit', async () => {
    await using bench = await open({ partitionRows: 50 })
    await using tm = await openTidemark(server.url, { namespace: bench.namespace, logger: quiet })
    const tail = await tm.admin.tail('topic')
    const seen: StoredMessage[] = []
    const reading = (async () => {
      for await (const each of tail) seen.push(each)
    })()
    const slow = await admin.connect()
    await slow.query('begin')
    await bench.store.log.publish(bench.topic, [message('slow')], slow)
    const committed: string[] = ['slow']
    for (let round = 0; round < 20; round++) {
      const [first, second] = [await admin.connect(), await admin.connect()]
      await first.query('begin')
      await second.query('begin')
      await bench.store.log.publish(bench.topic, [message(`first-${round}`)], first)
      await bench.store.log.publish(bench.topic, [message(`second-${round}`)], second)
      await second.query('commit')
      committed.push(`second-${round}`)
      await until(() => seen.some(({ payload }) => payload === `"second-${round}"`), { what: 'the later id' })
      await first.query(round % 3 === 0 ? 'rollback' : 'commit')
      if (round % 3 !== 0) committed.push(`first-${round}`)
      first.release()
      second.release()
    }
    await slow.query('commit')
    slow.release()
    await until(() => seen.length >= committed.length, { what: 'all that committed' })
    await bench.store.log.publish(bench.topic, [message('end')])
    await until(() => seen.some(({ payload }) => payload === '"end"'), { what: 'the end' })
    assert.deepEqual(
      seen.map(({ payload }) => String(payload)).sort(),
      [...committed, 'end'].map(each => `"${each}"`).sort(),
    )
    await tm.close()
    await reading
  })
})

describe('a transaction that holds back the horizon', () => {
  it('is named: its process, its age, its state and its query without the values', async () => {
    await using bench = await open()
    const client = new pg.Client({ connectionString: server.url, application_name: 'forgetful' })
    await client.connect()
    try {
      await client.query('begin')
      await client.query("select pg_current_xact_id(), 'a secret', 'it''s another' as b")
      const pid = Number((await client.query("select pg_backend_pid() as pid, 'a secret' as s")).rows[0]?.pid)
      const holder = (await bench.store.inspection.examine(10)).horizonHolders.find(each => each.pid === pid)
      assert.ok(holder)
      assert.deepEqual([holder.application, holder.state], ['forgetful', 'idle in transaction'])
      assert.ok(holder.ageMs >= 0)
      assert.equal(holder.query, 'select pg_backend_pid() as pid, ? as s')
      await client.query('rollback')
      assert.equal(
        (await bench.store.inspection.examine(10)).horizonHolders.find(each => each.pid === pid),
        undefined,
      )
    } finally {
      await client.end()
    }
  })
})

describe('deleting a topic', () => {
  it('removes all its tables, and those that a killed process left', async () => {
    await using bench = await open({ partitionRows: 10 })
    const { store, schema, topic } = bench
    for (let n = 0; n < 5; n++) await store.log.publish(topic, messages(10))
    await admin.query(`create table ${schema}.log_77 (id bigint) partition by range (id)`)
    await admin.query(`create table ${schema}.log_77_p0 partition of ${schema}.log_77 for values from (0) to (10)`)
    await store.topics.delete(topic)
    const { rows } = await admin.query(
      `select relname from pg_class where relnamespace = '${schema}'::regnamespace and relname ~ '^(log|track|messages)_[0-9]'`,
    )
    assert.deepEqual(rows, [])
  })
})

describe('an inconsistency', () => {
  it('is reported: a lease and retries without a group, a retry held by an ended lease', async () => {
    await using bench = await open()
    const { store, schema, topic } = bench
    const subscription = await store.subscriptions.subscribe(topic, 'g', 'now')
    await store.log.publish(topic, messages(3))
    assert.deepEqual(await inconsistenciesOf(store), [])
    await admin.query(`
      insert into ${schema}.lease (token, subscription_id, consumer, kind, size)
      values (gen_random_uuid(), 999, 'nobody', 'page', 1)`)
    await admin.query(`
      insert into ${schema}.retry (subscription_id, id, xid, attempts, version, due_at, token, slot, suspect, history)
      values (999, 1, '1', 1, 1, now(), null, null, false, '[]'),
        (${subscription.id}, 1, '1', 1, 1, now(), gen_random_uuid(), 0, false, '[]'),
        (${subscription.id}, 5000, '1', 1, 1, now(), null, null, false, '[]')`)
    await admin.query(`update ${schema}.subscription set to_id = 4000`)
    assert.deepEqual(await inconsistenciesOf(store), [
      "group 'g' has a cursor beyond the last message",
      "group 'g' has a retry of message 5000, which was never published",
      "message 1 of group 'g' is held by a lease that has ended",
      "a lease of consumer 'nobody' belongs to no group",
      'retries of subscription 999, which does not exist',
    ])
  })
})

const inconsistenciesOf = async (store: Bench['store']): Promise<readonly string[]> =>
  (await store.inspection.examine(10)).facts.flatMap(({ inconsistencies }) => inconsistencies)
