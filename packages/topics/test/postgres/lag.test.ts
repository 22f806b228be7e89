import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type pg from 'pg'
import { SeededRandom } from '../../../../testing/seeded-random.ts'
import { until } from '../../../../testing/until.ts'
import { ackAll, admin, messages, open, payloads, request, useServer } from './store-bench.ts'

useServer()

const STEPS = 150

type Writer = { readonly client: pg.PoolClient; open: number }

describe('the lag of groups', () => {
  for (const partitionRows of [50, 1_000_000]) {
    it(`is exact however transactions end, in partitions of ${partitionRows}`, async () => {
      const random = new SeededRandom()
      await random.named(async () => {
        await using bench = await open({ partitionRows })
        const { store, topic } = bench
        await store.log.publish(topic, messages(3))
        const groups = [
          { subscription: await store.subscriptions.subscribe(topic, 'all', 'beginning'), waiting: 3 },
          { subscription: await store.subscriptions.subscribe(topic, 'new', 'now'), waiting: 0 },
          {
            subscription: await store.subscriptions.subscribe(topic, 'since', { timestamp: Date.now() - 60_000 }),
            waiting: 3,
          },
        ]
        const writers = await Promise.all(
          [1, 2, 3, 4].map(async (): Promise<Writer> => ({ client: await admin.connect(), open: 0 })),
        )
        const write = async (writer: Writer): Promise<void> => {
          if (writer.open === 0) await writer.client.query('begin')
          const count = 1 + random.below(5)
          await store.log.publish(topic, messages(count), writer.client)
          writer.open += count
        }
        const end = async (writer: Writer, how: 'commit' | 'rollback'): Promise<void> => {
          await writer.client.query(how)
          if (how === 'commit') for (const group of groups) group.waiting += writer.open
          writer.open = 0
        }
        try {
          for (let step = 0; step < STEPS; step++) {
            const [writer, group] = [random.pick(writers), random.pick(groups)]
            if (random.chance(0.4)) await write(writer)
            else if (random.chance(0.6)) await end(writer, random.chance(0.7) ? 'commit' : 'rollback')
            else {
              const { lease } = await store.leases.claim(
                request(bench, group.subscription, { limit: 1 + random.below(9) }),
              )
              group.waiting -= lease === null || lease === undefined ? 0 : payloads(lease).length
              if (lease) await store.leases.settle([ackAll(lease)])
            }
            const told = (await store.inspection.describe(topic)).groups.map(({ group, backlog, oldestWaitingAt }) => [
              ...[group, backlog, oldestWaitingAt !== null],
            ])
            assert.deepEqual(
              told,
              groups.map(({ subscription, waiting }) => [subscription.group, waiting, waiting > 0]),
            )
          }
        } finally {
          for (const { client } of writers) client.release(true)
        }
      })
    })
  }

  it('is reported while the partition that a dead group stands in is dropped', async () => {
    await using bench = await open({ partitionRows: 1_000 })
    const { store, topic, schema } = bench
    await store.subscriptions.subscribe(topic, 'dead', 'now')
    await store.log.publish(topic, messages(10))
    const dropping = await admin.connect()
    try {
      await dropping.query('begin')
      await dropping.query(`alter table ${schema}.log_${topic.id} detach partition ${schema}.log_${topic.id}_p0`)
      await dropping.query(`drop table ${schema}.log_${topic.id}_p0`)
      const told = store.inspection.describe(topic)
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}%'`
      await until(async () => (await admin.query(waiting)).rowCount === 1, { what: 'the look to wait' })
      await dropping.query('commit')
      assert.deepEqual(
        (await told).groups.map(({ backlog }) => backlog),
        [0],
      )
    } finally {
      dropping.release(true)
    }
  })
})
