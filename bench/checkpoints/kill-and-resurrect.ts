import type { HeartbeatOptions } from 'tidemark'
import { monotonicMs } from '../topics/monotonic.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { atMost, below, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { longestStall } from './load/longest-stall.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'

const TOPIC = 'orders.events'
const LIVE = ['email', 'analytics']
const KILLED = 'inventory'
const LOOK_MS = 250

/**
 * The specification's clock: 5 minutes to T1 and so on. Scaled it runs about twenty times as fast, and the backfill's
 * limit stays far below what was missed.
 */
export const killAndResurrect: Checkpoint = {
  name: 'kill-and-resurrect',
  about: 'a group is killed, detected as dead, cleaned up after, and brought back with a bounded backfill',
  engines: ['postgres', 'sqlite'],
  seconds: { scaled: 110, full: 1_560 },
  async run(stage) {
    const perSecond = 1_000
    const maxBackfill = stage.pick(3_000, 100_000)
    const retentionSeconds = stage.pick(10, 300)
    // One miss: the specification wants it dead within 5 minutes of its last heartbeat. Ours by default takes three.
    const heartbeat: HeartbeatOptions = stage.pick(
      { interval: '500ms', timeout: '4s', misses: 1 },
      { interval: '60s', timeout: '230s', misses: 1 },
    )
    const deadWithin = stage.pick(10, 300)
    const database = await stage.database({ settings: stage.pick(['autovacuum_naptime=5s'], []) })
    const { url } = database
    await using tidemark = await openQuietly(url, {
      maintenance: stage.pick({ cleanUpEvery: '1s', detectEvery: '500ms' }, { cleanUpEvery: '1m', detectEvery: '1m' }),
    })
    await tidemark.configureTopic(TOPIC, {
      ...{ semantics: 'pub-sub', tracking: 'reference', retention: retentionSeconds * 1_000 },
      // A lease that runs out in the dead period would be a redelivery, and is not what this looks at.
      lease: retentionSeconds * 1_000,
      partitionRows: stage.pick(2_500, 20_000),
    })
    const start = (group: string, more = {}): Consumers =>
      new Consumers({
        ...{ url, maintenance: false, roundTrips: 1 },
        subscriptions: [{ topic: TOPIC, group, heartbeat, ...more }],
      })
    await using email = start('email', { distinct: true })
    await using analytics = start('analytics', { distinct: true })
    await using inventory = start(KILLED)
    const live = [email, analytics]
    await Promise.all([...live, inventory].map(each => each.started))
    await using publisher = new Publisher({ url, topic: TOPIC, perSecond })
    await publisher.started

    const sizes: { at: number; bytes: number }[] = []
    const looking = setInterval(() => {
      tidemark.admin.stats({ maxAge: 0 }).then(
        stats => sizes.push({ at: monotonicMs(), bytes: stats.topics[TOPIC]?.bytes ?? 0 }),
        () => {}, // It is closed at the end.
      )
    }, LOOK_MS)
    using _looking = { [Symbol.dispose]: () => clearInterval(looking) }
    const meanSize = (from: number, to: number): number => {
      const found = sizes.filter(({ at }) => at >= from && at <= to)
      return found.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, found.length)
    }
    const groupNow = async (name: string) => {
      const found = (await tidemark.admin.groups(TOPIC)).find(({ group }) => group === name)
      if (found === undefined) throw new Error(`The group '${name}' is gone`)
      return found
    }

    stage.phase('T0: three groups at work')
    await stage.pause(stage.pick(26, 300))
    const controlFrom = monotonicMs() - stage.pick(8_000, 240_000)
    stage.phase(`T1: '${KILLED}' is killed with SIGKILL`)
    inventory.kill('SIGKILL')
    await inventory.ended()
    const killedAt = monotonicMs()
    const afterKill = await groupNow(KILLED)
    const deadAfter = await stage.within(deadWithin * 3, async () => (await groupNow(KILLED)).status === 'DEAD')
    const deadAt = monotonicMs()
    const silent = deadAfter === null ? null : (await groupNow(KILLED)).sinceHeartbeatMs / 1_000
    const stopped = (await groupNow(KILLED)).watermark
    stage.phase('T2: dead; the others go on and clean-up passes it')
    const firstId = async (): Promise<number> => (await tidemark.admin.stats({ maxAge: 0 })).topics[TOPIC]?.firstId ?? 0
    const cleaned = await stage.within(stage.pick(40, 900), async () => (await firstId()) > stopped)
    const steadyMs = stage.pick(10_000, 240_000)
    await stage.pause(stage.pick(16, 300))
    const sizeBefore = meanSize(killedAt - steadyMs, killedAt)
    const sizeDead = meanSize(monotonicMs() - steadyMs, monotonicMs())

    stage.phase(`T4: '${KILLED}' comes back with at most ${maxBackfill} missed messages`)
    const missed = (await groupNow('email')).cursor - stopped
    const resurrectAt = monotonicMs()
    await using returned = start(KILLED, { backfill: { maxMessages: maxBackfill } })
    await returned.started
    const hasCompleted = async (): Promise<boolean> =>
      (await tidemark.admin.backfill(TOPIC, KILLED))?.status === 'COMPLETED'
    const ended = await stage.within(stage.pick(30, 300), hasCompleted)
    const backfilled = (await tidemark.admin.backfill(TOPIC, KILLED))?.processed ?? 0
    const isSteady = async (): Promise<boolean> =>
      (await tidemark.admin.groups(TOPIC)).every(({ status, lagMs }) => status === 'ACTIVE' && lagMs < 2_000)
    const steady = await stage.within(stage.pick(40, 1_800), isSteady)
    stage.phase('T5: steady state')
    await stage.pause(stage.pick(6, 300))
    const published = await publisher.stop()
    const to = monotonicMs()
    const drained = await stage.within(stage.pick(30, 120), async () => {
      const groups = await tidemark.admin.groups(TOPIC)
      return groups.every(({ lagMessages, inFlight, retries }) => lagMessages + inFlight + retries === 0)
    })
    // Its processes report a moment later.
    await stage.within(10, () => live.every(each => each.distinct() >= published))
    const health = await tidemark.admin.health()
    const ofThePast = returned.groups[0]?.earlier ?? 0
    const stall = Math.max(...live.map((each, index) => longestStall(each.deliveries(LIVE[index] ?? ''), killedAt, to)))
    const control = Math.max(
      ...live.map((each, index) => longestStall(each.deliveries(LIVE[index] ?? ''), controlFrom, killedAt)),
    )
    // What the machine itself kept these processes waiting at that time.
    const bare = Math.max(0, ...live.flatMap(each => each.roundTrips.between(killedAt, to))) / 1_000
    return {
      criteria: [
        holds(afterKill.status === 'ACTIVE', {
          name: 'killed without a word: the subscription remains ACTIVE at first',
          figure: afterKill.status,
          limit: 'ACTIVE',
        }),
        atMost(deadWithin, {
          name: 'dead detection: time since its last heartbeat',
          value: silent,
          unit: 's',
          note: `timeout ${heartbeat.timeout}, one miss; the default of three misses takes three timeouts, so that a group that flaps is not buried`,
        }),
        holds(cleaned !== null, {
          name: 'clean-up unblocked: messages go when email and analytics are done',
          figure: `first kept id ${await firstId()}`,
          limit: `above ${stopped}, where it stopped`,
        }),
        below(10, {
          name: 'database growth during the dead period',
          value: (100 * (sizeDead - sizeBefore)) / sizeBefore,
          unit: '%',
          note: `topic ${(sizeBefore / 1024).toFixed(0)} kB before the kill, ${(sizeDead / 1024).toFixed(0)} kB at the end of the dead period (means of ${steadyMs / 1_000} s)`,
        }),
        atMost(maxBackfill, {
          name: 'bounded backfill: messages of the past that it gets',
          value: Math.max(backfilled, ofThePast),
          note: `it missed ${missed}; the backfill marked ${backfilled}, ${ofThePast} from before its return were delivered`,
        }),
        atMost(stage.pick(30, 300), {
          name: 'backfill completes',
          value: ended,
          unit: 's',
          note: `after its start, ${((resurrectAt - deadAt) / 1_000).toFixed(0)} s after its death`,
        }),
        atMost(Math.max(2, 2 * control) + bare, {
          name: 'no stalls: longest time without a delivery to email or analytics',
          value: stall,
          unit: 's',
          note:
            `${control.toFixed(2)} s before the kill; limit 2 s, or twice that, beyond the longest bare round trip or commit ` +
            `of the same processes at the same time (${bare.toFixed(2)} s)`,
        }),
        atMost(stage.pick(40, 1_800), {
          name: 'steady state: every group ACTIVE with a lag below 2 s',
          value: steady,
          unit: 's',
        }),
        holds(drained !== null && health.stuck.length === 0 && health.inconsistencies.length === 0, {
          name: 'nothing stuck: all groups drained after the last message',
          figure: drained === null ? 'not drained' : `in ${drained.toFixed(1)} s`,
        }),
        holds(
          live.every(each => each.distinct() >= published),
          {
            name: 'email and analytics received every message',
            figure: `${Math.min(...live.map(each => each.distinct()))} of ${published}`,
          },
        ),
      ],
      figures: { perSecond, sizes, missed, backfilled, errors: live.flatMap(each => each.errors) },
    }
  },
}
