import { monotonicMs } from '../topics/monotonic.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atMost, below, type Criterion, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'

const NOISY = { topic: 'high-volume.events', groups: 10 }
const QUIET = 'low-volume.events'
const OTHER = 'other-tenant'
/** Figures of the specification. */
const FETCH_MS = 50
const LAG_SECONDS = 10
const QUIET_PER_SECOND = 10
/** The least from publish to handler: a publish, a claim and the rows. */
const ROUND_TRIPS = 3

/** The quiet topic shares database, process and pool with the noisy one; the quiet namespace shares the server only. */
export const multiTenant: Checkpoint = {
  name: 'multi-tenant',
  about:
    'one noisy topic with ten groups beside a quiet topic and a quiet namespace: latency and lag of the quiet ones',
  engines: ['postgres', 'sqlite'],
  seconds: { scaled: 90, full: 3_900 },
  async run(stage) {
    const perSecond = stage.pick(2_000, 10_000)
    const database = await stage.database()
    const { url } = database
    await using tidemark = await openQuietly(url)
    await using other = await openQuietly(url, { namespace: OTHER })
    await tidemark.configureTopic(NOISY.topic, { semantics: 'pub-sub' })
    for (const each of [tidemark, other]) await each.configureTopic(QUIET, { semantics: 'pub-sub' })
    const bare = stage.engine === 'postgres' ? "bare round trips ('select 1')" : 'bare commits in another file'
    await using shared = new Consumers({
      url,
      roundTrips: ROUND_TRIPS,
      subscriptions: [
        ...['quiet-1', 'quiet-2'].map(group => ({ topic: QUIET, group, distinct: true })),
        ...Array.from({ length: NOISY.groups }, (_, index) => ({
          topic: NOISY.topic,
          group: `noisy-${index}`,
          batchSize: 1_000,
        })),
      ],
    })
    await using apart = new Consumers({
      url,
      roundTrips: ROUND_TRIPS,
      subscriptions: ['other-1', 'other-2'].map(group => ({ topic: QUIET, group, namespace: OTHER, distinct: true })),
    })
    await Promise.all([shared.started, apart.started])
    const quiet = { url, topic: QUIET, perSecond: QUIET_PER_SECOND, single: true }
    await using publisher = new Publisher(quiet)
    await publisher.started
    await using otherPublisher = new Publisher({ ...quiet, namespace: OTHER })
    await otherPublisher.started
    stage.phase('warming up')
    await stage.pause(stage.pick(5, 30))
    stage.phase('control: the quiet ones alone')
    const controlFrom = monotonicMs()
    await stage.pause(stage.pick(20, 180))
    const controlTo = monotonicMs()
    await using noisy = new Publisher({ url, topic: NOISY.topic, perSecond })
    await noisy.started
    stage.phase(`beside ${perSecond} messages a second to ${NOISY.groups} groups`)
    const from = monotonicMs()
    await stage.pause(stage.pick(45, 3_600))
    const to = monotonicMs()
    const lags = [...(await tidemark.admin.groups(QUIET)), ...(await other.admin.groups(QUIET))].map(
      ({ lagMs }) => lagMs,
    )
    const noise = shared.delivered('noisy-0')
    const late = noisy.lateMs
    await noisy.stop()
    const published = [await publisher.stop(), await otherPublisher.stop()]
    stage.phase('draining the quiet ones')
    const isDrained = (): boolean =>
      ['quiet-1', 'quiet-2'].every(group => shared.distinct(group) >= (published[0] ?? 0)) &&
      ['other-1', 'other-2'].every(group => apart.distinct(group) >= (published[1] ?? 0))
    const drained = await stage.within(stage.pick(20, 60), isDrained)
    const judge = (name: string, consumers: Consumers, groups: readonly string[]): Criterion[] => {
      const p95 = (a: number, b: number): number =>
        Math.max(...groups.map(group => consumers.latencies(group).p95(a, b)))
      const trip = consumers.roundTrips.p95(from, to)
      const [alone, beside] = [p95(controlFrom, controlTo), p95(from, to)]
      const longest = Math.max(...groups.flatMap(group => consumers.latencies(group).between(from)))
      return [
        below(FETCH_MS, {
          name: `${name}: p95 from publish to handler, beyond bare round trips or commits`,
          value: Math.max(0, beside - trip),
          unit: 'ms',
          note:
            `${beside.toFixed(1)} ms beside the noise and ${alone.toFixed(1)} ms alone; ${ROUND_TRIPS} ${bare} ` +
            `of the same process at the same time took ${trip.toFixed(1)} ms (p95), which is the machine's`,
        }),
        atMost(LAG_SECONDS, {
          name: `${name}: longest lag`,
          value: longest / 1_000,
          unit: 's',
          note: 'of a message that was delivered beside the noise',
        }),
      ]
    }
    return {
      criteria: [
        ...judge('quiet topic', shared, ['quiet-1', 'quiet-2']),
        ...judge('quiet namespace', apart, ['other-1', 'other-2']),
        holds(drained !== null, {
          name: 'the quiet groups received every message',
          figure: `of ${published.join(' and ')}`,
        }),
        holds(noise > 0, {
          name: 'the noise was there',
          figure: `${Math.round((noise * NOISY.groups * 1_000) / (to - from))} deliveries a second`,
          note: `the publisher was ${(late / 1_000).toFixed(1)} s behind its schedule at the end`,
        }),
      ],
      figures: {
        lags,
        errors: [...shared.errors, ...apart.errors],
        claim: { shared: shared.claim, apart: apart.claim },
      },
    }
  },
}
