import { median } from '../statistics.ts'
import { monotonicMs } from '../topics/monotonic.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atMost, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'
import type { Series } from './load/series.ts'
import { openSession } from './postgres/session.ts'

const TOPIC = 'orders.events'
const GROUPS = ['email', 'analytics', 'inventory', 'audit']
const LOOK_SECONDS = 5

/** Everything that may only grow slowly: compared are the first half after the warm-up and the second. */
export const soak: Checkpoint = {
  name: 'soak',
  about: 'a steady load for a long time: memory, handles, connections, storage and latency stay flat',
  engines: ['postgres', 'sqlite'],
  seconds: { scaled: 165, full: 24 * 3_600 + 300 },
  async run(stage) {
    const perSecond = stage.pick(500, 2_000)
    const seconds = stage.pick(120, 24 * 3_600)
    const retention = stage.pick('10s', '10m') as '10s'
    const database = await stage.database({ settings: stage.pick(['autovacuum_naptime=5s'], []) })
    const { url } = database
    await using tidemark = await openQuietly(url, {
      maintenance: stage.pick({ cleanUpEvery: '2s', detectEvery: '2s' }, {}),
    })
    await tidemark.configureTopic(TOPIC, {
      ...{ semantics: 'pub-sub', retention, lease: retention },
      partitionRows: stage.pick(1_000, 100_000),
    })
    await using client = stage.engine === 'postgres' ? await openSession(url) : undefined
    await using consumers = new Consumers({
      url,
      maintenance: false,
      roundTrips: 1,
      collectGarbage: true,
      // It fills up once, by design: that must be over before the first half.
      ...(!stage.full && { rowCacheBytes: 2 * 2 ** 20 }),
      subscriptions: GROUPS.map(group => ({ topic: TOPIC, group, distinct: !stage.full })),
    })
    await consumers.started
    await using publisher = new Publisher({ url, topic: TOPIC, perSecond })
    await publisher.started
    stage.phase('warming up')
    await stage.pause(stage.pick(25, 900))
    const from = monotonicMs()
    const looks: { connections: number; bytes: number; at: number }[] = []
    while (monotonicMs() - from < seconds * 1_000) {
      stage.phase(`${perSecond} messages a second to ${GROUPS.length} groups`)
      for (let look = 0; look < 3; look++) {
        await stage.pause(LOOK_SECONDS)
        const { bytes, reusableBytes } = await tidemark.admin.size()
        looks.push({ connections: await connectionsOf(client), bytes: bytes - reusableBytes, at: monotonicMs() })
      }
    }
    const to = monotonicMs()
    const half = (from + to) / 2
    const published = await publisher.stop()
    stage.phase('draining')
    const drained = await stage.within(60, () => consumers.delivered() >= published)
    const health = await tidemark.admin.health()

    const halves = (series: Series): [number, number] => [
      median(series.between(from, half)),
      median(series.between(half, to)),
    ]
    const [rssBefore, rssAfter] = halves(consumers.rssMB)
    const [heapBefore, heapAfter] = halves(consumers.heapMB)
    const [handlesBefore, handlesAfter] = halves(consumers.handles)
    const lookHalves = (read: (look: (typeof looks)[number]) => number): [number, number] => [
      median(looks.filter(({ at }) => at < half).map(read)),
      median(looks.filter(({ at }) => at >= half).map(read)),
    ]
    const [connectionsBefore, connectionsAfter] = lookHalves(({ connections }) => connections)
    const [bytesBefore, bytesAfter] = lookHalves(({ bytes }) => bytes / 2 ** 20)
    const p95 = (a: number, b: number): number => Math.max(...GROUPS.map(group => consumers.latencies(group).p95(a, b)))
    const [p95Before, p95After] = [p95(from, half), p95(half, to)]
    const trips = consumers.roundTrips.p95(half, to) / consumers.roundTrips.p95(from, half)
    const control = client === undefined ? 'a bare commit in another file' : 'a bare round trip'
    return {
      criteria: [
        flat('heap after a collection', heapBefore, heapAfter, { share: 1.1, slack: 4, unit: 'MB' }),
        flat('resident memory', rssBefore, rssAfter, { share: stage.pick(1.25, 1.1), slack: 8, unit: 'MB' }),
        flat('open handles', handlesBefore, handlesAfter, { share: 1, slack: 2, unit: '' }),
        ...(client === undefined
          ? []
          : [flat('connections', connectionsBefore, connectionsAfter, { share: 1, slack: 1, unit: '' })]),
        flat('storage', bytesBefore, bytesAfter, { share: 1.2, slack: 2, unit: 'MB' }),
        atMost(1.5, {
          name: 'latency p95: second half next to the first',
          value: p95After / p95Before / Math.max(1, trips),
          unit: '×',
          note: `${p95After.toFixed(1)} ms against ${p95Before.toFixed(1)} ms; ${control} became ${trips.toFixed(2)} times as long, which is divided out if it is more than 1`,
        }),
        holds(drained !== null, {
          name: 'every group received every message',
          figure: `${consumers.delivered()} of ${published}`,
        }),
        holds(health.stuck.length + health.inconsistencies.length + consumers.errors.length === 0, {
          name: 'nothing stuck, no inconsistency, no error',
          figure: `${health.stuck.length}, ${health.inconsistencies.length}, ${consumers.errors.length}`,
          limit: '0',
          ...(consumers.errors[0] && { note: consumers.errors[0] }),
        }),
      ],
      figures: { published, looks, claim: consumers.claim, errors: consumers.errors.slice(0, 20) },
    }
  },
}

type Slack = { readonly share: number; readonly slack: number; readonly unit: '' | 'MB' }

/** A small absolute slack, because a tenth of a few megabytes is noise. */
const flat = (name: string, before: number, after: number, { share, slack, unit }: Slack) =>
  atMost(before * share + slack, {
    name: `${name}: second half`,
    value: after,
    unit,
    note: `${before.toFixed(1)} in the first half (medians)`,
  })

async function connectionsOf(client: Awaited<ReturnType<typeof openSession>> | undefined): Promise<number> {
  if (client === undefined) return 0
  const { rows } = await client.query<{ count: string }>(
    "select count(*) from pg_stat_activity where backend_type = 'client backend'",
  )
  return Number(rows[0]?.count)
}
