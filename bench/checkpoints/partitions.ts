import type { HeartbeatOptions } from 'tidemark'
import type { Checkpoint } from './frame/checkpoint.ts'
import { above, atMost, below, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { Publisher } from './load/publisher.ts'
import { openQuietly } from './load/quiet.ts'
import { InsertProbe } from './postgres/insert-probe.ts'
import { type LogPartitions, readPartitions } from './postgres/log-partitions.ts'
import { openSession } from './postgres/session.ts'

const TOPIC = 'orders.events'
const LIVE = ['email', 'analytics']
const KILLED = 'inventory'
const LOOK_MS = 200
const LONGEST_PUBLISH_MS = 250

/**
 * The specification runs ten days with a partition a day and a retention of seven. Our partitions hold a number of
 * messages instead of a day, so the scaled run has the same number of them in seconds.
 */
export const partitions: Checkpoint = {
  name: 'partitions',
  about: 'partitions are created ahead and dropped behind under load, one group is killed, and no publish is blocked',
  engines: ['postgres'],
  seconds: { scaled: 28, full: 10 * 86_400 + 600 },
  async run(stage) {
    const perSecond = stage.pick(2_000, 10_000)
    const partitionRows = stage.pick(4_000, 1_000_000)
    const retentionMs = stage.pick(4_000, 7 * 86_400_000)
    const heartbeat = stage.pick<HeartbeatOptions>(
      { interval: '500ms', timeout: '1500ms', misses: 2 },
      { interval: '60s', timeout: '300s', misses: 3 },
    )
    const database = await stage.database()
    await using tidemark = await openQuietly(database.url, {
      maintenance: stage.pick({ cleanUpEvery: '500ms', detectEvery: '500ms' }, {}),
    })
    await tidemark.configureTopic(TOPIC, {
      semantics: 'pub-sub',
      partitionRows,
      retention: retentionMs,
      lease: Math.min(retentionMs, 300_000),
    })
    await using client = await openSession(database.url)
    await using live = new Consumers({
      url: database.url,
      maintenance: false,
      subscriptions: LIVE.map((group, index) => ({
        ...{ topic: TOPIC, group, heartbeat, distinct: true },
        batchSize: index === 0 ? 1_000 : 100,
      })),
    })
    await using killed = new Consumers({
      url: database.url,
      maintenance: false,
      subscriptions: [{ topic: TOPIC, group: KILLED, heartbeat, batchSize: 50 }],
    })
    await Promise.all([live.started, killed.started])
    await using probe = new InsertProbe(database.url)
    await using publisher = new Publisher({ url: database.url, topic: TOPIC, perSecond })
    await publisher.started

    const looks: LogPartitions[] = []
    const looking = setInterval(() => {
      readPartitions(client, partitionRows).then(
        look => looks.push(look),
        () => {}, // The server is gone at the end.
      )
    }, LOOK_MS)
    using _looking = { [Symbol.dispose]: () => clearInterval(looking) }
    const first = (): number => looks.at(-1)?.numbers[0] ?? 0

    stage.phase(`three groups, ${perSecond} messages a second`)
    const firstDrop = await stage.within(stage.pick(30, 8.5 * 86_400), () => first() > 0)
    const killedAt = performance.now()
    stage.phase(`killing '${KILLED}' with SIGKILL`)
    killed.kill('SIGKILL')
    const groupNamed = async (name: string) => (await tidemark.admin.groups(TOPIC)).find(({ group }) => group === name)
    const pinned = (await groupNamed(KILLED))?.watermark ?? 0
    const deadAfter = await stage.within(
      stage.pick(20, 3_600),
      async () => (await groupNamed(KILLED))?.status === 'DEAD',
    )
    stage.phase('the dead group must not pin partitions')
    const passed = await stage.within(stage.pick(25, 86_400), () => first() * partitionRows > pinned)
    await stage.pause(stage.pick(2, Math.max(0, 86_400 - (performance.now() - killedAt) / 1_000)))
    const published = await publisher.stop()
    stage.phase('draining')
    const drained = await stage.within(stage.pick(30, 600), () =>
      LIVE.every(group => live.distinct(group) >= published),
    )
    const durations = publisher.durations.between(0)
    const longest = Math.max(...durations)
    const control = Math.max(...probe.durations.between(0))
    const lowestRoom = Math.min(...looks.map(({ room }) => room))
    const dropped = first()
    return {
      criteria: [
        above(0, {
          name: 'partitions are created ahead: lowest room for messages',
          value: lowestRoom,
          note: `of ${looks.length} looks; a partition has ${partitionRows} messages, ${Math.floor(published / partitionRows) + 1} were filled or begun`,
        }),
        atMost(stage.pick(25, 8.5 * 86_400), {
          name: 'the first partition is dropped after its retention',
          value: firstDrop,
          unit: 's',
          note: `retention ${retentionMs / 1_000} s; three live groups`,
        }),
        atMost(stage.pick(15, 1_200), {
          name: 'the killed group is dead',
          value: deadAfter,
          unit: 's',
          note: `timeout ${heartbeat.timeout}, ${heartbeat.misses} misses`,
        }),
        holds(passed !== null, {
          name: 'a dead group does not pin partitions',
          figure: `kept from id ${dropped * partitionRows}`,
          limit: `above ${pinned}, where it stopped`,
          note: `${dropped} partitions dropped in all; the specification's zombie protection`,
        }),
        below(Math.max(LONGEST_PUBLISH_MS, 3 * control), {
          name: 'no publish is blocked: longest publish',
          value: longest,
          unit: 'ms',
          note: `of ${durations.length} sampled batches; limit ${LONGEST_PUBLISH_MS} ms, or 3 × the longest bare insert beside it (${control.toFixed(0)} ms)`,
        }),
        holds(drained !== null, {
          name: 'the live groups received every message',
          figure: `${Math.min(...LIVE.map(group => live.distinct(group)))} of ${published}`,
        }),
      ],
      figures: {
        published,
        partitionsDropped: dropped,
        publishP95: publisher.durations.p95(),
        bareInsertP95: probe.durations.p95(),
        errors: live.errors,
      },
    }
  },
}
