import { monotonicMs } from '../topics/monotonic.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atMost, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'
import { openSession } from './postgres/session.ts'
import { isLog, tableSizes } from './postgres/table-sizes.ts'

const TOPIC = 'orders.events'
const GROUPS = ['email', 'analytics']
const OF_THE_HELD = 'held'

/**
 * While a transaction is open, vacuum can remove nothing that was deleted since it began, and a cursor by
 * pg_snapshot_xmin would stop at it. Ours must go on.
 */
export const heldTransaction: Checkpoint = {
  name: 'held-transaction',
  about: 'a transaction left open for the whole run: delivery goes on, its own message arrives last, bloat is reported',
  engines: ['postgres'],
  seconds: { scaled: 75, full: 3_720 },
  async run(stage) {
    const perSecond = stage.pick(500, 10_000)
    const database = await stage.database({ settings: stage.pick(['autovacuum_naptime=5s'], []) })
    await using tidemark = await openQuietly(database.url)
    await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub' })
    await tidemark.configureTopic(OF_THE_HELD, { semantics: 'pub-sub' })
    await using client = await openSession(database.url)
    await using consumers = new Consumers({
      url: database.url,
      roundTrips: 1,
      subscriptions: [
        ...GROUPS.map(group => ({ topic: TOPIC, group, distinct: true })),
        { topic: OF_THE_HELD, group: OF_THE_HELD },
      ],
    })
    await consumers.started
    await using publisher = new Publisher({ url: database.url, topic: TOPIC, perSecond })
    await publisher.started
    stage.phase('warming up')
    await stage.pause(stage.pick(5, 60))

    stage.phase('control: nothing is held')
    const controlFrom = monotonicMs()
    await stage.pause(stage.pick(12, 300))
    const controlTo = monotonicMs()
    const before = await tableSizes(client)

    stage.phase('holding a transaction that has written')
    await using holder = await openSession(database.url)
    await holder.query('begin isolation level repeatable read')
    await tidemark.publish(OF_THE_HELD, { n: 0, sentAt: monotonicMs(), note: '' }, { tx: holder })
    const heldFrom = monotonicMs()
    const seconds = stage.pick(40, 3_600)
    await stage.pause(seconds * 0.7)
    const lateFrom = monotonicMs()
    await stage.pause(seconds * 0.3)
    const heldTo = monotonicMs()
    const published = await publisher.stop()
    stage.phase('draining')
    const drained = await stage.within(stage.pick(20, 300), () =>
      GROUPS.every(each => consumers.distinct(each) >= published),
    )
    const health = await tidemark.admin.health({ openTransaction: '5s' })
    const early = consumers.delivered(OF_THE_HELD)
    const during = await tableSizes(client)
    await holder.query('commit')
    const arrived = await stage.within(20, () => consumers.delivered(OF_THE_HELD) === 1)

    const p95 = (from: number, to: number): number =>
      Math.max(...GROUPS.map(group => consumers.latencies(group).p95(from, to)))
    const [control, late] = [p95(controlFrom, controlTo), p95(lateFrom, heldTo)]
    const [controlTrip, lateTrip] = [
      consumers.roundTrips.p95(controlFrom, controlTo),
      consumers.roundTrips.p95(lateFrom, heldTo),
    ]
    const slower = late / control / Math.max(1, lateTrip / controlTrip)
    const bloat = during.filter(each => !isLog(each) && each.dead > 0)
    return {
      criteria: [
        holds(drained !== null, {
          name: 'delivery goes on: both groups received every message before the commit',
          figure: `${Math.min(...GROUPS.map(group => consumers.distinct(group)))} of ${published}`,
        }),
        atMost(2, {
          name: 'latency p95 at the end of the run, next to the control',
          value: slower,
          unit: '×',
          note:
            `${late.toFixed(1)} ms against ${control.toFixed(1)} ms without it; a bare round trip beside it took ` +
            `${lateTrip.toFixed(1)} ms against ${controlTrip.toFixed(1)} ms, and what the machine itself became slower is divided out`,
        }),
        holds(early === 0 && arrived !== null, {
          name: "the held transaction's own message arrives after its commit, and not before",
          figure: `${early} before, ${consumers.delivered(OF_THE_HELD)} after`,
        }),
        holds(health.horizonHolders.length > 0, {
          name: 'health names what holds the horizon back',
          figure: `${health.horizonHolders.length} holders`,
          ...(health.horizonHolders[0] && {
            note: `pid ${health.horizonHolders[0].pid}, ${health.horizonHolders[0].state}`,
          }),
        }),
        holds(
          during.filter(isLog).every(({ dead }) => dead === 0),
          {
            name: 'bloat: the log has no dead rows, whatever is held',
            figure: `${during.filter(isLog).reduce((sum, { dead }) => sum + dead, 0)} dead rows`,
            limit: '0',
            note: `reported, and removable after the commit only: ${bloat.map(({ name, dead, bytes }) => `${name} ${dead} dead rows, ${Math.round(bytes / 1024)} kB`).join('; ') || 'none'}`,
          },
        ),
      ],
      figures: {
        published,
        heldSeconds: (heldTo - heldFrom) / 1_000,
        before,
        during,
        claim: consumers.claim,
        errors: consumers.errors,
      },
    }
  },
}
