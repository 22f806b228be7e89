import type { Tidemark } from 'tidemark'
import { median } from '../statistics.ts'
import { orders } from '../topics/payloads.ts'
import type { Checkpoint, Stage } from './frame/checkpoint.ts'
import { atLeast, atMost, holds } from './frame/criterion.ts'
import { Consumers } from './load/consumers.ts'
import { CountingGroup } from './load/counting-group.ts'
import { GatedGroup } from './load/gated-group.ts'
import { openQuietly } from './load/quiet.ts'

const GROUPS = ['email', 'analytics', 'search']
const SLOW = 'slow'
const BESIDE = 'slow-beside'
const SLOW_MS = 10
/** The same log twice: one has the slow group, the other has not. */
const TOPICS = { behind: 'orders.behind', control: 'orders.control' }
const PAGE = 1_000

export const slowConsumer: Checkpoint = {
  name: 'slow-consumer',
  about: 'a group a million messages behind slows no other by more than 10 %',
  engines: ['postgres', 'sqlite'],
  seconds: { scaled: 140, full: 1_200 },
  async run(stage) {
    const behind = 1_000_000
    const rounds = stage.pick(32, 120)
    const perRound = stage.pick(8_000, 20_000)
    const database = await stage.database()
    await using tidemark = await openQuietly(database.url)
    for (const [name, topic] of Object.entries(TOPICS)) {
      await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
      await fill(stage, tidemark, topic, behind, name)
    }
    stage.phase('starting the groups')
    const live = {
      behind: await startGroups(tidemark, TOPICS.behind),
      control: await startGroups(tidemark, TOPICS.control),
    }
    // One message at a time: it will not catch up.
    await using slow = new Consumers({
      url: database.url,
      maintenance: false,
      subscriptions: [{ topic: TOPICS.behind, group: SLOW, from: 'beginning', handlerMs: SLOW_MS, batchSize: 100 }],
    })
    await slow.started
    // The same in the process, the pool and the row cache of the others.
    const beside = await GatedGroup.start(tidemark, TOPICS.behind, BESIDE, SLOW_MS)
    const payloads = orders(PAGE).map((order, n) => ({ ...order, n, sentAt: 0 }))
    const sent = { behind: 0, control: 0 }
    const times: Record<keyof typeof TOPICS, number[]> = { behind: [], control: [] }
    for (let round = 0; round <= rounds; round++) {
      if (round % 8 === 0) {
        stage.phase(
          `round ${round} of ${rounds}: ${perRound} messages to ${GROUPS.length} groups, beside the slow ones and without them`,
        )
      }
      // Each goes first every other time.
      const order = round % 2 === 0 ? (['control', 'behind'] as const) : (['behind', 'control'] as const)
      for (const side of order) {
        // Without the slow groups there is none of their work either.
        beside.isOpen = side === 'behind'
        slow.setOpen(side === 'behind')
        const started = performance.now()
        for (let left = perRound; left > 0; left -= PAGE)
          await tidemark.publishBatch(TOPICS[side], payloads.slice(0, left))
        sent[side] += perRound
        await Promise.all(live[side].map(group => group.reached(sent[side], deadline(stage))))
        // The first round warms up.
        if (round > 0) times[side].push(performance.now() - started)
      }
    }
    slow.setOpen(true)
    beside.isOpen = true
    const ratio = median(times.behind.map((ms, round) => ms / (times.control[round] ?? ms)))
    const groups = await tidemark.admin.groups(TOPICS.behind)
    const lags = [SLOW, BESIDE].map(name => groups.find(({ group }) => group === name)?.lagMessages ?? 0)
    return {
      criteria: [
        atLeast(behind * 0.9, {
          name: 'two slow groups are a million behind until the end',
          value: Math.min(...lags),
          note: 'the smaller lag at the end; one is in a process of its own, one in that of the others',
        }),
        atMost(1.1, {
          name: 'the others: time to publish and deliver a round, next to the same without the slow groups',
          value: ratio,
          unit: '×',
          note: `median of ${rounds} pairs of rounds; medians ${median(times.behind).toFixed(0)} ms and ${median(times.control).toFixed(0)} ms for ${perRound} messages to ${GROUPS.length} groups`,
        }),
        holds(slow.delivered(SLOW) > 0 && beside.delivered > 0, {
          name: 'the slow groups go on',
          figure: `${slow.delivered(SLOW)} and ${beside.delivered} delivered`,
        }),
      ],
      figures: { times, lags, errors: slow.errors },
    }
  },
}

async function fill(stage: Stage, tidemark: Tidemark, topic: string, count: number, name: string): Promise<void> {
  const payloads = orders(PAGE).map((order, n) => ({ ...order, n, sentAt: 0 }))
  for (let sent = 0; sent < count; sent += PAGE) {
    if (sent % (count / 4) === 0) stage.phase(`publishing ${count} messages (${name}): ${sent}`)
    stage.signal.throwIfAborted()
    await tidemark.publishBatch(topic, payloads)
  }
}

const startGroups = async (tidemark: Tidemark, topic: string): Promise<CountingGroup[]> =>
  await Promise.all(GROUPS.map(async group => await CountingGroup.start(tidemark, topic, group)))

/** A round that takes minutes is no measurement. */
const deadline = ({ signal }: Stage): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(120_000)])
