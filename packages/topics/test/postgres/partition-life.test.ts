import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { DEFAULT_BACKFILL } from '../../src/backfill/backfill-plan.ts'
import type { CleanUpStep } from '../../src/stores/log.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import {
  ackAll,
  admin,
  type Bench,
  claimLease,
  drain,
  group,
  messages,
  nack,
  open,
  openStore,
  payloads,
  request,
  settlement,
  useServer,
} from './store-bench.ts'

useServer()

const HOUR = 3_600_000
const BACK = { mode: 'continue', limit: null, plan: DEFAULT_BACKFILL } as const
const SHORT = { retentionMs: HOUR, leaseMs: HOUR, partitionRows: 10 }

describe('a partition', () => {
  it('is dropped when it is full, old and done, and the log continues when all are gone', async () => {
    await using bench = await open(SHORT)
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    for (let round = 0; round < 3; round++) {
      await bench.store.log.publish(bench.topic, messages(25))
      await drain(bench, subscription)
      await age(bench, 2 * HOUR)
      assert.equal(await cleanUp(bench), 25)
      assert.equal(await kept(bench), 0)
    }
    // As if nobody had made the next one ahead.
    for (const name of await partitions(bench)) await admin.query(`drop table ${bench.schema}.${name}`)
    await bench.store.log.publish(bench.topic, messages(3))
    assert.equal((await partitions(bench)).length <= 3, true)
    assert.deepEqual(await drain(bench, subscription), [0, 1, 2])
  })

  it('that a writer may still write to is neither sealed nor dropped', async () => {
    await using bench = await open(SHORT)
    const writer = await admin.connect()
    try {
      await writer.query('begin')
      await bench.store.log.publish(bench.topic, messages(1, 100), writer)
      await bench.store.log.publish(bench.topic, messages(25))
      await age(bench, 100 * 24 * HOUR)
      for (let run = 0; run < 3; run++) assert.equal((await step(bench)).partitionsDropped, 0)
      assert.equal((await sealed(bench)).length, 0)
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
      assert.equal((await drain(bench, subscription)).length, 25)
      await writer.query('commit')
      assert.deepEqual(await drain(bench, subscription), [100])
      await age(bench, 2 * HOUR)
      assert.equal(await cleanUp(bench), 26)
    } finally {
      writer.release(true)
    }
  })

  it('is dropped behind a group that has read everything and waits', async () => {
    await using bench = await open(SHORT)
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(15))
    await drain(bench, subscription)
    const before = await group(bench)
    await age(bench, 2 * HOUR)
    assert.equal(await cleanUp(bench), 15)
    const after = await group(bench)
    assert.ok((after?.watermark ?? 0n) > (before?.watermark ?? 0n))
  })

  it('of a slow topic is filled up with ids, so that it can be dropped in time; they do not count as messages', async () => {
    await using bench = await open({ ...SHORT, partitionRows: 100_000 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(5))
    await age(bench, HOUR / 5)
    assert.deepEqual(await step(bench), NOTHING)
    await age(bench, HOUR / 10)
    assert.deepEqual(await step(bench), { ...NOTHING, more: true })
    await bench.store.log.publish(bench.topic, messages(20_000, 5))
    assert.equal(await cleanUp(bench), 0)
    const { messagesPublished, groups } = await bench.store.inspection.describe(bench.topic)
    assert.equal(messagesPublished, 20_005)
    // More than are counted one by one: told by the ids.
    assert.equal(groups[0]?.backlog, 20_005)
    assert.equal((await drain(bench, subscription, { limit: 5_000 })).length, 20_005)
  })

  it('is filled up once, by any number of processes', async () => {
    await using bench = await open({ ...SHORT, partitionRows: 10_000 })
    await using other = await open({}, { namespace: bench.namespace })
    await bench.store.log.publish(bench.topic, messages(5))
    await age(bench, HOUR / 2)
    const publishing = Promise.all(
      Array.from({ length: 20 }, (_, n) => bench.store.log.publish(bench.topic, messages(1, n))),
    )
    await Promise.all([step(bench), step(other), step(bench), step(other)])
    await publishing
    await bench.store.log.publish(bench.topic, messages(1))
    const { rows } = await admin.query(`select max(id)::int as id from ${bench.schema}.log_${bench.topic.id}`)
    assert.ok(rows[0].id >= 10_000 && rows[0].id < 10_050, `the last id is ${rows[0].id}`)
  })
})

describe('dropping a partition', () => {
  it('waits for a reader of the log, and nobody waits for it: it is finished later', async () => {
    await using bench = await open(SHORT)
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await fill(bench, 25)
    await drain(bench, subscription)
    await age(bench, 2 * HOUR)
    await until(async () => (await step(bench, { sealOnly: true })).sealed >= 2, {
      what: 'two partitions to be sealed',
    })
    const reader = await admin.connect()
    try {
      await reader.query('begin')
      await reader.query(`select count(*) from ${bench.schema}.log_${bench.topic.id}`)
      const dropping = stepUntilIdle(bench)
      await until(async () => await isWaiting(bench), { what: 'the drop to wait for the reader' })
      // One that waited would be finished only after the drop has given up.
      let finished = 0
      do {
        await bench.store.log.publish(bench.topic, messages(5, finished * 5))
        await bench.store.leases.settle([ackAll(await claimLease(bench, subscription))])
      } while ((await isWaiting(bench)) && ++finished < 30)
      assert.ok(finished > 0, 'publishes and claims go on during the wait')
      // It gives up after its lock timeout, and is no failure.
      assert.deepEqual(await dropping, NOTHING)
    } finally {
      await reader.query('rollback')
      reader.release()
    }
    assert.equal((await begun(bench)).length, 1)
    assert.equal(await cleanUp(bench), 19)
    assert.equal((await begun(bench)).length, 0)
  })

  for (const killed of [
    'before the detach',
    'in the middle of the detach',
    'between detach and drop',
    'after the drop',
  ]) {
    it(`continues where a run was killed: ${killed}`, async () => {
      await using bench = await open(SHORT)
      const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
      await fill(bench, 25)
      await drain(bench, subscription)
      await age(bench, 2 * HOUR)
      await until(async () => (await step(bench, { sealOnly: true })).sealed >= 2, {
        what: 'two partitions to be sealed',
      })
      const log = `${bench.schema}.log_${bench.topic.id}`
      await admin.query(`select ${bench.functions}.move_idle_windows(${bench.topic.id})`)
      const { rows } = await admin.query(`select number from ${bench.functions}.begin_drop(${bench.topic.id})`)
      assert.equal(rows[0].number, '0')
      if (killed === 'in the middle of the detach') await halfDetach(log)
      if (killed === 'between detach and drop' || killed === 'after the drop') {
        await admin.query(`alter table ${log} detach partition ${log}_p0 concurrently`)
      }
      if (killed === 'after the drop') await admin.query(`drop table ${log}_p0`)
      // The log goes on all the while.
      await bench.store.log.publish(bench.topic, messages(15, 25))
      assert.equal((await drain(bench, subscription)).length, 15)
      assert.equal(await cleanUp(bench), 19)
      assert.deepEqual(
        (await partitions(bench)).filter(name => name.endsWith('_p0')),
        [],
      )
      const { rows: tables } = await admin.query('select to_regclass($1) as there', [`${log}_p0`])
      assert.equal(tables[0].there, null)
    })
  }

  it('by two at once removes each partition once', async () => {
    await using bench = await open(SHORT)
    await using other = await open({}, { namespace: bench.namespace })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(95))
    await drain(bench, subscription)
    await age(bench, 2 * HOUR)
    const removed = await Promise.all([cleanUp(bench), cleanUp(other), cleanUp(bench)])
    assert.equal(
      removed.reduce((sum, each) => sum + each, 0),
      95,
    )
  })

  it('does not happen if a group was reset while the cleaner waited for its lock', async () => {
    await using bench = await open(SHORT)
    const { schema, functions, store, topic } = bench
    const subscription = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await fill(bench, 12)
    const place = 'window_from, window_to, late_ids, open_ids, from_id, next_id, seen_id, to_id, at_id'
    await admin.query(`create table ${schema}.at_first as select ${place} from ${schema}.subscription`)
    await drain(bench, subscription)
    await age(bench, 2 * HOUR)
    await until(async () => (await step(bench, { sealOnly: true })).sealed >= 1, { what: 'a partition to be sealed' })
    const [operator, cleaner] = [await admin.connect(), await admin.connect()]
    try {
      await operator.query('begin')
      await operator.query(`update ${schema}.subscription set (${place}) = (select * from ${schema}.at_first)`)
      const dropping = cleaner.query(`select number from ${functions}.begin_drop(${topic.id})`)
      const waits = `select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`
      await until(async () => (await operator.query(waits)).rowCount, { what: 'the cleaner to wait' })
      await operator.query('commit')
      assert.deepEqual((await dropping).rows, [{ number: null }])
    } finally {
      operator.release(true)
      cleaner.release(true)
    }
    assert.equal((await drain(bench, subscription)).length, 12)
  })

  it('counts anew what a dead group has not claimed that was back since it was counted', async () => {
    await using bench = await open({ ...SHORT, zeroSubscriptionRetentionMs: HOUR })
    const { store, topic, functions } = bench
    const die = () => admin.query(`update ${bench.schema}.subscription set status = 'DEAD'`)
    const subscription = await store.subscriptions.subscribe(topic, 'g', 'beginning')
    await fill(bench, 12)
    await age(bench, 2 * HOUR)
    await until(async () => (await step(bench, { sealOnly: true })).sealed >= 1, { what: 'a partition to be sealed' })
    await store.leases.settle([ackAll(await claimLease(bench, subscription, { limit: 2 }))])
    await die()
    // Here the cleaner was held up, until the group had been back and was dead again.
    await admin.query(`select ${functions}.note_unclaimed(${topic.id})`)
    await store.subscriptions.resurrect(topic, subscription, BACK)
    await store.leases.settle([ackAll(await claimLease(bench, subscription, { limit: 3 }))])
    await die()
    await admin.query(`select from ${functions}.begin_drop(${topic.id})`)
    const { lost } = await store.subscriptions.resurrect(topic, subscription, BACK)
    assert.equal(lost, 4, 'nine were in the partition, of which it has claimed five')
  })

  it('that was decided on is not read by a group that starts only now', async () => {
    await using bench = await open({ ...SHORT, zeroSubscriptionRetentionMs: HOUR })
    await fill(bench, 12)
    await age(bench, 2 * HOUR)
    await until(async () => (await step(bench, { sealOnly: true })).sealed >= 1, { what: 'a partition to be sealed' })
    await admin.query(`select from ${bench.functions}.begin_drop(${bench.topic.id})`)
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'late', 'beginning')
    const lease = await claimLease(bench, subscription)
    assert.deepEqual(payloads(lease), [9, 10, 11])
    await cleanUp(bench)
    await bench.store.leases.settle([ackAll(lease)])
    assert.equal((await bench.store.leases.claim(request(bench, subscription))).lease, null)
  })
})

describe('retries of messages whose partition is gone', () => {
  for (const [what, published] of [
    ['some', 12],
    ['all', 9],
  ] as const) {
    it(`are forgotten by the claim that finds ${what} of them gone`, async () => {
      await using bench = await open(SHORT)
      const { store, schema, topic } = bench
      const subscription = await store.subscriptions.subscribe(topic, 'g', 'now')
      await fill(bench, published)
      const lease = await claimLease(bench, subscription)
      await store.leases.settle([
        settlement(lease.token, { size: lease.size, nacks: lease.messages.map((_, slot) => nack(slot)) }),
      ])
      await admin.query(`drop table ${schema}.log_${topic.id}_p0`)
      const { lease: rest } = await store.leases.claim(request(bench, subscription))
      assert.equal(rest?.messages.length ?? 0, published - 9)
      const { rows } = await admin.query(`select id::int from ${schema}.retry order by id`)
      assert.deepEqual(
        rows.map(({ id }) => id),
        [10, 11, 12].slice(0, published - 9),
      )
    })
  }
})

describe('a partition that is being attached', () => {
  // Others see the commit a moment before PostgreSQL has announced it to their sessions.
  it('makes claims wait until its commit is announced, so that none skips its rows', async () => {
    await using bench = await open(SHORT)
    const { functions, topic } = bench
    const subscription = await bench.store.subscriptions.subscribe(topic, 'g', 'now')
    await bench.store.log.publish(topic, messages(1))
    const maker = await admin.connect()
    try {
      await maker.query('begin')
      await maker.query(`select ${functions}.add_partitions($1, $2, 100)`, [topic.id, topic.config.partitionRows])
      const claiming = claimLease(bench, subscription)
      const waits = `select from pg_stat_activity where wait_event = 'advisory' and pg_backend_pid() = any(pg_blocking_pids(pid))`
      await until(async () => (await maker.query(waits)).rowCount, { what: 'the claim to wait' })
      await maker.query('commit')
      assert.deepEqual(payloads(await claiming), [0])
    } finally {
      maker.release(true)
    }
  })
})

describe('partitions under load', () => {
  it('are made ahead and dropped behind, and never while needed', async t => {
    await using bench = await open({ retentionMs: 0, leaseMs: 0, partitionRows: 50 })
    await using cleaner = await openCleaner(bench)
    const subscriptions = await Promise.all(
      ['a', 'b'].map(name => bench.store.subscriptions.subscribe(bench.topic, name, 'now')),
    )
    let total = 0
    let removed = 0
    let isPublishing = true
    let longest = 0
    let nextStep = Promise.withResolvers<void>()
    const timed = async <T>(work: () => Promise<T>): Promise<T> => {
      const started = performance.now()
      try {
        return await work()
      } finally {
        longest = Math.max(longest, performance.now() - started)
      }
    }
    const publisher = async (): Promise<void> => {
      for (; total < 1_000 || removed === 0; total += 20) {
        // On a busy machine it takes longer until the first partition is dropped.
        if (total >= 1_000) await nextStep.promise
        await timed(() => bench.store.log.publish(bench.topic, messages(20, total)))
      }
    }
    const consumer = async (subscription: SubscriptionRecord): Promise<unknown[]> => {
      const seen: unknown[] = []
      for (;;) {
        const wasPublishing = isPublishing
        const { lease } = await timed(() => bench.store.leases.claim(request(bench, subscription, { limit: 64 })))
        if (lease) {
          seen.push(...payloads(lease))
          await bench.store.leases.settle([ackAll(lease)])
        } else if (!wasPublishing) return seen
      }
    }
    const cleaning = async (): Promise<void> => {
      while (isPublishing) {
        removed += (await cleaner.cleanUp(bench.topic, 10_000)).removed
        nextStep.resolve()
        nextStep = Promise.withResolvers()
      }
    }
    const cleaned = cleaning()
    const seen = subscriptions.map(consumer)
    await publisher().finally(() => {
      isPublishing = false
    })
    await cleaned
    const all = Array.from({ length: total }, (_, n) => n)
    for (const each of await Promise.all(seen))
      assert.deepEqual(
        each.map(Number).sort((a, b) => a - b),
        all,
      )
    t.diagnostic(`${removed} of ${total} were removed meanwhile; the longest wait was ${Math.round(longest)} ms`)
    assert.ok(removed > 0)
    await age(bench, HOUR)
    removed += await cleanUp(bench)
    assert.equal(removed, total)
  })
})

const NOTHING: CleanUpStep = { removed: 0, partitionsDropped: 0, lost: [], more: false }

/** One step; or only as far as partitions are sealed, and how many are. */
async function step(bench: Bench): Promise<CleanUpStep>
async function step(bench: Bench, how: { sealOnly: true }): Promise<{ sealed: number }>
async function step(bench: Bench, how?: { sealOnly: true }): Promise<CleanUpStep | { sealed: number }> {
  if (!how) return await bench.store.log.cleanUp(bench.topic, 10_000)
  await admin.query(`select ${bench.functions}.note_full(${bench.topic.id})`)
  await admin.query(`select ${bench.functions}.seal_next(${bench.topic.id})`)
  return { sealed: (await sealed(bench)).length }
}

/** Ids from 1 on, without those that a publish draws in vain where no partition was made yet. */
async function fill(bench: Bench, count: number): Promise<void> {
  const { functions, topic } = bench
  await admin.query(`select ${functions}.add_partitions($1, $2, $3)`, [topic.id, topic.config.partitionRows, 2 * count])
  await bench.store.log.publish(topic, messages(count))
}

async function stepUntilIdle(bench: Bench): Promise<CleanUpStep> {
  let last = await step(bench)
  while (last.more) last = await step(bench)
  return last
}

/** Until all is sealed and nothing more goes. */
async function cleanUp(bench: Bench): Promise<number> {
  let removed = 0
  await until(
    async () => {
      const result = await step(bench)
      removed += result.removed
      const { rows } = await admin.query(
        `select from ${bench.schema}.partition where sealed_at is null or dropping_since is not null`,
      )
      return !result.more && rows.length === 0
    },
    { what: 'the clean-up to come to its end' },
  )
  return removed
}

async function openCleaner(bench: Bench) {
  const store = await openStore(bench.namespace)
  return {
    cleanUp: store.log.cleanUp.bind(store),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

async function age({ schema, topic }: Bench, ms: number): Promise<void> {
  const back = `- ${ms} * interval '1 millisecond'`
  await admin.query(`update ${schema}.log_${topic.id} set created_at = created_at ${back}`)
  await admin.query(`update ${schema}.partition set newest = newest ${back}`)
}

async function kept({ schema, topic }: Bench): Promise<number> {
  const { rows } = await admin.query(`select count(*)::int as n from ${schema}.log_${topic.id}`)
  return rows[0].n
}

async function partitions({ schema, topic }: Bench): Promise<string[]> {
  const { rows } = await admin.query(
    `select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = $1::regclass`,
    [`${schema}.log_${topic.id}`],
  )
  return rows.map(({ relname }) => relname)
}

const sealed = async ({ schema }: Bench) =>
  (await admin.query(`select from ${schema}.partition where sealed_at is not null`)).rows

const begun = async ({ schema }: Bench) =>
  (await admin.query(`select from ${schema}.partition where dropping_since is not null`)).rows

async function isWaiting({ schema, topic }: Bench): Promise<boolean> {
  const { rows } = await admin.query(`select from pg_stat_activity where query like $1 and wait_event_type = 'Lock'`, [
    `alter table%${schema}%log_${topic.id}%detach partition%`,
  ])
  return rows.length > 0
}

/** A detach that is ended while it waits for a reader leaves the partition half detached. */
async function halfDetach(log: string): Promise<void> {
  const reader = await admin.connect()
  const detacher = await admin.connect()
  try {
    await reader.query('begin')
    await reader.query(`select count(*) from ${log}`)
    await detacher.query("set lock_timeout = '50ms'")
    await assert.rejects(detacher.query(`alter table ${log} detach partition ${log}_p0 concurrently`))
    const { rows } = await admin.query('select from pg_inherits where inhrelid = $1::regclass and inhdetachpending', [
      `${log}_p0`,
    ])
    assert.equal(rows.length, 1)
  } finally {
    await reader.query('rollback')
    reader.release()
    detacher.release(true)
  }
}
