import { percentile } from '../statistics.ts'
import { monotonicMs } from '../topics/monotonic.ts'
import { orders } from '../topics/payloads.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atLeast, atMost, below, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { OltpWorkload } from './load/oltp.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'
import { openSession, type Session } from './postgres/session.ts'

const TOPIC = 'orders.events'
const LIVE = ['email', 'analytics']
const LATE = 'inventory'
const PAGE = 1_000
const FIRST_NUMBER = 20_000_000
/** Figures of the specification. */
const TRANSACTIONS_PER_SECOND = 500
const TARGET_MS = 50
const MOST_MS = 100
/** Every commit waits so long in the spike: longer than the backfill's target. */
const SPIKE_MS = 80
const LESS = 0.5

export const backfillVsOltp: Checkpoint = {
  name: 'backfill-vs-oltp',
  about:
    '500 foreign transactions a second beside an aggressive backfill: their latency, its throttling, cancel and resume',
  engines: ['postgres'],
  seconds: { scaled: 130, full: 2_400 },
  async run(stage) {
    const pending = stage.pick(400_000, 5_000_000)
    const perSecond = stage.pick(500, 1_000)
    const database = await stage.database()
    const { url } = database
    await using tidemark = await openQuietly(url, { maintenance: false })
    await using client = await openSession(url)
    await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub', tracking: 'reference' })
    const page = orders(PAGE)
    for (let sent = 0; sent < pending; sent += PAGE) {
      if (sent % (pending / 4) === 0) stage.phase(`publishing ${pending} messages: ${sent}`)
      stage.signal.throwIfAborted()
      // Numbers apart from those of the publisher, so that each message can be told.
      await tidemark.publishBatch(
        TOPIC,
        page.map((order, index) => ({ ...order, n: FIRST_NUMBER + sent + index, sentAt: 0 })),
      )
    }
    await using live = new Consumers({ url, subscriptions: LIVE.map(group => ({ topic: TOPIC, group, from: 'now' })) })
    await live.started
    await using publisher = new Publisher({ url, topic: TOPIC, perSecond })
    await publisher.started
    await using oltp = new OltpWorkload({ url, perSecond: TRANSACTIONS_PER_SECOND })
    await oltp.started
    stage.phase('warming up')
    await stage.pause(stage.pick(4, 60))
    stage.phase(`baseline: ${TRANSACTIONS_PER_SECOND} foreign transactions a second`)
    const baseFrom = monotonicMs()
    await stage.pause(stage.pick(15, 300))
    const baseTo = monotonicMs()

    stage.phase('backfill with the aggressive preset')
    // It takes one message and keeps it: what a group delivers is another load.
    await using late = await openQuietly(url, { maintenance: false })
    const group = late.consumerGroup(TOPIC, LATE, { batchSize: 1 }).addConsumer('c', () => new Promise(() => {}))
    const backfillFrom = monotonicMs()
    await group.start({ from: 'beginning', backfill: { preset: 'aggressive', maxMessages: 'all' } })
    const progress = async () => await tidemark.admin.backfill(TOPIC, LATE)
    const doneNow = async (): Promise<number> => (await progress())?.processed ?? 0
    const rateOver = async (seconds: number): Promise<number> => {
      const [before, started] = [await doneNow(), monotonicMs()]
      await stage.pause(seconds)
      return (((await doneNow()) - before) * 1_000) / (monotonicMs() - started)
    }
    await stage.within(30, async () => (await doneNow()) > 0)
    const rateBefore = await rateOver(stage.pick(1.5, 60))
    const spikeFrom = monotonicMs()
    stage.phase(`a spike: every commit takes ${SPIKE_MS} ms longer`)
    await delayCommits(client, SPIKE_MS)
    // The throttle looks back at twenty probes.
    await stage.pause(stage.pick(3, 10))
    const rateSpike = await rateOver(stage.pick(4, 60))
    const inSpike = monotonicMs()
    await delayCommits(client, 0)
    const spikeTo = monotonicMs()
    const midway = await progress()

    stage.phase('cancel and resume')
    let resumed = false
    let cancelledAt = 0
    if (midway?.status === 'RUNNING') {
      const cancelled = await tidemark.admin.cancelBackfill(TOPIC, LATE)
      cancelledAt = cancelled.processed
      await stage.pause(1)
      resumed = cancelled.status === 'CANCELLED' && (await doneNow()) === cancelledAt
      await late.admin.resumeBackfill(TOPIC, LATE)
    }
    stage.phase('to the end of the backfill')
    const completed = await stage.within(stage.pick(90, 1_800), async () => (await progress())?.status === 'COMPLETED')
    const end = await progress()
    const backfillTo = monotonicMs()
    const ofPublisher = await publisher.stop()
    const marked = end?.processed ?? 0
    stage.phase('delivering everything to the late group')
    await group.stop({ timeout: 1 })
    await using taking = new Consumers({
      url,
      subscriptions: [{ topic: TOPIC, group: LATE, batchSize: 1_000, distinct: true }],
    })
    await taking.started
    const wanted = pending + ofPublisher
    await stage.within(stage.pick(60, 600), () => taking.distinct(LATE) >= wanted)
    const [report] = taking.groups
    const { distinct = 0, delivered = 0, redelivered = 0 } = report ?? {}

    const base = oltp.durations.p95(baseFrom, baseTo)
    const during = [
      ...oltp.durations.between(backfillFrom, spikeFrom),
      ...oltp.durations.between(spikeTo + 1_000, backfillTo),
    ]
    const beside = percentile(during, 0.95)
    const spike = oltp.durations.p95(spikeFrom + 1_000, inSpike)
    return {
      criteria: [
        below(Math.max(MOST_MS, 2 * base), {
          name: 'OLTP protected: p95 of the foreign transactions during the backfill',
          value: beside,
          unit: 'ms',
          note: `${base.toFixed(1)} ms before it; limit ${MOST_MS} ms, or twice the baseline where the machine itself is slower. Without the spike, which this test makes`,
        }),
        holds(spike > TARGET_MS && rateSpike < rateBefore * LESS, {
          name: 'adaptive throttling: the rate falls when latency is above the target',
          figure: `${Math.round(rateBefore)}/s before, ${Math.round(rateSpike)}/s in the spike`,
          limit: `below ${LESS} of it`,
          note: `p95 of the foreign transactions in the spike: ${spike.toFixed(0)} ms (commit_delay), target ${TARGET_MS} ms`,
        }),
        holds(resumed && end?.status === 'COMPLETED', {
          name: 'resumable: cancelled, stood still, resumed and completed',
          figure: resumed ? `cancelled at ${cancelledAt}` : 'it had ended before it could be cancelled',
        }),
        holds(marked >= pending && distinct === wanted && delivered === wanted, {
          name: 'no corruption: backfill and live stream together are every message, none twice',
          figure: `${distinct} of ${wanted} messages, ${delivered} deliveries`,
          note: `the backfill marked ${marked}; ${redelivered} of the deliveries are of what the first consumer was stopped with`,
        }),
        atMost(stage.pick(90, 1_800), {
          name: 'the backfill completes',
          value: completed,
          unit: 's',
          note: `${Math.round((marked * 1_000) / (backfillTo - backfillFrom))} messages a second in all, spike and cancellation included`,
        }),
        atLeast(TRANSACTIONS_PER_SECOND * 0.9, {
          name: 'the foreign workload was there',
          value: (oltp.transactions * 1_000) / (monotonicMs() - baseFrom + stage.pick(4_000, 60_000)),
          unit: '/s',
          note: 'transactions of an insert, an update and a query, over the whole run',
        }),
      ],
      figures: { base, beside, spike, rateBefore, rateSpike, backfill: end, claim: live.claim, errors: live.errors },
    }
  },
}

/** The server's own setting for a commit that waits for company; here it makes a slow disk. */
async function delayCommits(client: Session, ms: number): Promise<void> {
  await client.query(`alter system set commit_delay = ${ms * 1_000}`)
  await client.query('alter system set commit_siblings = 0')
  await client.query('select pg_reload_conf()')
}
