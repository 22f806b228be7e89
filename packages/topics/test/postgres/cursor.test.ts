import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isLong } from '../../../../testing/long.ts'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import {
  ackAll,
  admin,
  type Bench,
  claimLease,
  drain,
  group,
  message,
  messages,
  open,
  payloads,
  request,
  useServer,
} from './store-bench.ts'

useServer()

/** The plan of a statement with the settings that the function `claim` runs it with. */
async function explainAsClaim(functions: string, text: string): Promise<string> {
  const client = await admin.connect()
  try {
    await client.query('begin')
    const settings = await client.query<{ name: string; value: string }>(
      `select split_part(c, '=', 1) as name, split_part(c, '=', 2) as value
       from pg_proc, unnest(proconfig) as c where oid = (select oid from pg_proc where proname = 'claim' and pronamespace = $1::regnamespace)`,
      [functions],
    )
    for (const { name, value } of settings.rows) await client.query(`select set_config($1, $2, true)`, [name, value])
    return JSON.stringify((await client.query(`explain (format json) ${text}`)).rows)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/** What a claim would read, in its window as it stands and in the next, and the partitions that it would touch. */
async function windowPlans(
  { schema, functions }: Bench,
  subscriptionId: number,
): Promise<{ text: string; touched: Set<string> }[]> {
  const next = `${functions}.next_window(s, pg_current_snapshot(), ${functions}.last_id(s.topic_id), ${functions}.last_id(s.topic_id))`
  const { rows } = await admin.query<{ now: string; next: string }>(
    `select ${functions}.window_query('*', s, 100) as now, ${functions}.window_query('*', ${next}, 100) as next
     from ${schema}.subscription as s where s.id = ${subscriptionId}`,
  )
  const texts = rows.flatMap(row => [row.now, row.next])
  return await Promise.all(
    texts.map(async text => ({
      text,
      touched: new Set((await explainAsClaim(functions, text)).match(/log_\d+_p\d+(?=")/g)),
    })),
  )
}

describe('the snapshot cursor', () => {
  it('delivers what many writers commit, in whatever order, once and nothing else', async t => {
    const random = new SeededRandom()
    t.diagnostic(`TIDEMARK_TEST_SEED=${random.seed}`)
    await using bench = await open({ partitionRows: 200 })
    const groups = await Promise.all(
      ['a', 'b'].map(name => bench.store.subscriptions.subscribe(bench.topic, name, 'now')),
    )
    const committed = new Set<number>()
    let next = 0
    let isWriting = true
    const writer = async () => {
      const client = await admin.connect()
      for (let n = 0; n < (isLong ? 60 : 15); n++) {
        await client.query('begin')
        const mine: number[] = []
        for (let k = 0; k < 1 + random.next() * 3; k++) {
          const batch = messages(1 + Math.floor(random.next() * 4), next)
          next += batch.length
          mine.push(...batch.map(({ payload }) => Number(payload)))
          await bench.store.log.publish(bench.topic, batch, client)
          if (random.next() < 0.3) await delay(random.next() * 20)
        }
        const keep = random.next() < 0.75
        await client.query(keep ? 'commit' : 'rollback')
        if (keep) for (const value of mine) committed.add(value)
      }
      client.release()
    }
    const watchWatermark = async () => {
      for (let last = 0n; isWriting; ) {
        const now = (await group(bench, 'a'))?.watermark ?? 0n
        assert.ok(now >= last, `the watermark went back from ${last} to ${now}`)
        last = now
      }
    }
    const reader = async (subscription: SubscriptionRecord) => {
      const seen: unknown[] = []
      for (;;) {
        const wasWriting = isWriting
        const limit = 1 + Math.floor(random.next() * 30)
        const { lease } = await bench.store.leases.claim(
          request(bench, subscription, { limit, shared: random.next() < 0.7 }),
        )
        if (lease) {
          seen.push(...payloads(lease))
          await bench.store.leases.settle([ackAll(lease)])
        } else if (!wasWriting) return seen
      }
    }
    const readers = [...groups, ...groups].map(reader)
    const watching = watchWatermark()
    await Promise.all(Array.from({ length: 8 }, writer)).finally(() => {
      isWriting = false
    })
    await watching
    const [a1, b1, a2, b2] = await Promise.all(readers)
    for (const seen of [
      [...(a1 ?? []), ...(a2 ?? [])],
      [...(b1 ?? []), ...(b2 ?? [])],
    ]) {
      assert.equal(new Set(seen).size, seen.length, 'a duplicate')
      assert.deepEqual(new Set(seen), committed)
    }
    assert.equal((await group(bench, 'a'))?.backlog, 0)
  })

  it('lets a forgotten transaction delay only its own messages', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const client = await admin.connect()
    await client.query('begin')
    await bench.store.log.publish(bench.topic, [message('held')], client)
    const seen: unknown[] = []
    let watermark = 0n
    for (let n = 0; n < 10; n++) {
      await bench.store.log.publish(bench.topic, messages(40, n * 40))
      seen.push(...(await drain(bench, subscription)))
      const now = (await group(bench))?.watermark ?? 0n
      assert.ok(now >= watermark)
      watermark = now
    }
    assert.equal(seen.length, 400)
    await client.query('commit')
    client.release()
    assert.deepEqual(await drain(bench, subscription), ['held'])
    await bench.store.log.publish(bench.topic, [message('after')])
    assert.deepEqual(await drain(bench, subscription), ['after'])
    assert.ok(((await group(bench))?.watermark ?? 0n) > watermark)
  })

  it('Concern 3: consumer group query performance: reads at most two partitions of ten when it follows the tail', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    for (let n = 0; n < 50; n++) {
      await bench.store.log.publish(bench.topic, messages(10, n * 10))
      await bench.store.leases.settle([ackAll(await claimLease(bench, subscription))])
    }
    await bench.store.log.publish(bench.topic, messages(10))
    const { schema, topic } = bench
    const partitions = `select from pg_inherits where inhparent = '${schema}.log_${topic.id}'::regclass`
    assert.ok((await admin.query(partitions)).rows.length >= 10)
    for (const { text, touched } of await windowPlans(bench, subscription.id)) {
      assert.ok(touched.size <= 2, `${[...touched]} of ${text}`)
    }
  })

  it('Concern 3: … and also while one transaction is held open and others end late', async () => {
    await using bench = await open({ partitionRows: 50 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    const [held, late] = [await admin.connect(), await admin.connect()]
    try {
      await held.query('begin')
      await bench.store.log.publish(bench.topic, [message('held')], held)
      for (let n = 0; n < 50; n++) {
        await late.query('begin')
        await bench.store.log.publish(bench.topic, [message(`late ${n}`)], late)
        await bench.store.log.publish(bench.topic, messages(9, n * 9))
        await bench.store.leases.settle([ackAll(await claimLease(bench, subscription))])
        await late.query('commit')
        const plans = await windowPlans(bench, subscription.id)
        assert.match(plans.at(-1)?.text ?? '', /union all/, 'the late one is looked for')
        for (const { text, touched } of plans) assert.ok(touched.size <= 2, `${[...touched]} of ${text}`)
        assert.deepEqual(await drain(bench, subscription), [`late ${n}`])
      }
      await held.query('commit')
      assert.deepEqual(await drain(bench, subscription), ['held'])
    } finally {
      held.release()
      late.release()
    }
  })

  it('Concern 3: consumer group query performance: reads a long window by its index, whatever the statistics say', async () => {
    await using bench = await open({ partitionRows: 5_000 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    for (let n = 0; n < 6; n++) await bench.store.log.publish(bench.topic, messages(2_000))
    await claimLease(bench, subscription)
    const { schema, functions } = bench
    const { rows } = await admin.query<{ text: string }>(
      `select ${functions}.window_query('*', s, 100) as text from ${schema}.subscription as s where s.id = ${subscription.id}`,
    )
    assert.doesNotMatch(await explainAsClaim(functions, rows[0]?.text ?? ''), /"Sort"|Bitmap|Seq Scan/)
  })

  it('costs an idle group no transaction', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const next = async () => BigInt((await admin.query('select pg_current_xact_id()::text as x')).rows[0].x)
    const before = await next()
    const claims = 50
    for (let n = 0; n < claims; n++) await bench.store.leases.claim(request(bench, subscription))
    const taken = (await next()) - before
    // One is this look's own, and autovacuum may come by, which takes one for each table that it analyses.
    assert.ok(taken < claims / 2, `${taken} transactions for ${claims} claims`)
  })

  it('moves an idle group past late transactions now and then, so that it need not search for their rows for ever', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const client = await admin.connect()
    await client.query('begin')
    await bench.store.log.publish(bench.topic, [message('late')], client)
    await bench.store.log.publish(bench.topic, [message('in time')])
    assert.deepEqual(await drain(bench, subscription), ['in time'])
    await client.query('rollback')
    client.release()
    const hasWork = async (): Promise<boolean> => {
      const { rows } = await admin.query<{ is: boolean }>(
        `select ${bench.functions}.has_work(s, false) as is from ${bench.schema}.subscription as s where s.id = $1`,
        [subscription.id],
      )
      return rows[0]?.is ?? false
    }
    assert.equal(await hasWork(), false)
    await admin.query(`update ${bench.schema}.subscription set moved_at = moved_at - interval '11 seconds'`)
    assert.equal(await hasWork(), true)
    assert.deepEqual(await drain(bench, subscription), [])
    await admin.query(`update ${bench.schema}.subscription set moved_at = moved_at - interval '11 seconds'`)
    assert.equal(await hasWork(), false)
  })

  it('shares rows among the groups of a process', async () => {
    await using bench = await open()
    const names = ['a', 'b', 'c']
    const groups = await Promise.all(names.map(name => bench.store.subscriptions.subscribe(bench.topic, name, 'now')))
    const seen: Record<string, unknown[]> = { a: [], b: [], c: [] }
    for (let n = 0; n < 10; n++) {
      await bench.store.log.publish(bench.topic, messages(20, n * 20))
      const leases = []
      for (const subscription of groups) {
        const lease = await claimLease(bench, subscription, { shared: true })
        seen[subscription.group]?.push(...payloads(lease))
        leases.push(lease)
      }
      if (n > 0) assert.equal(leases[0]?.messages[0], leases[1]?.messages[0])
    }
    for (const name of names)
      assert.deepEqual(
        seen[name],
        Array.from({ length: 200 }, (_, index) => index),
      )
  })

  it('fetches what has left the cache', async () => {
    await using bench = await open({}, { rowCacheBytes: 2_000 })
    const groups = await Promise.all(
      ['a', 'b'].map(name => bench.store.subscriptions.subscribe(bench.topic, name, 'now')),
    )
    await bench.store.log.publish(bench.topic, messages(300))
    const everything = Array.from({ length: 300 }, (_, index) => index)
    for (const subscription of groups) {
      assert.deepEqual(await drain(bench, subscription, { shared: true, limit: 50 }), everything)
    }
  })
})
