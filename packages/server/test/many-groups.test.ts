import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Tidemark } from 'tidemark'
import { until } from '../../../testing/until.ts'
import type { GroupLive, TopicLive } from '../src/live/shapes.ts'
import { withShownGroups } from '../src/live/shown-groups.ts'
import { serve } from './servers.ts'
import { Listener } from './streams.ts'

const TOPICS = 3
const GROUPS = 10

describe('an overview of more groups than it has room for', () => {
  it('has those that need attention, and what all of them come to; a topic in detail has all', async () => {
    await using server = await serve({ limits: { overviewGroups: 12 } })
    for (let topic = 0; topic < TOPICS; topic++) await fill(server.tm, `topic-${topic}`)
    await server.tm.admin.pauseGroup('topic-1', nameOf(GROUPS - 1))
    await server.tm.publishBatch('topic-1', [1, 2, 3])

    const isPublished = ({ topics }: Body): boolean =>
      topics.some(({ topic, totals }) => topic === 'topic-1' && totals.lagMessages === GROUPS * 3)
    const body = await until(async () => [(await server.get('/api/v1/overview')).body as Body].find(isPublished), {
      what: 'an overview of what was published',
    })
    const topic = found(body.topics, 'topic-1')
    assert.deepEqual(
      body.topics.map(({ groups }) => groups.length),
      [4, 4, 4],
    )
    assert.deepEqual([topic.totals.groups, topic.totals.paused, topic.totals.dead], [GROUPS, 1, 0])
    assert.equal(topic.groups.find(({ status }) => status === 'PAUSED')?.group, nameOf(GROUPS - 1))

    await using some = await Listener.open(server.url, '/api/v1/events')
    await using all = await Listener.open(server.url, '/api/v1/events?detail=topic:topic-1')
    const groupsIn = async (reader: Listener): Promise<readonly GroupLive[]> =>
      found((await reader.next(({ event }) => event === 'snapshot', 'a snapshot')).data.topics, 'topic-1').groups
    const [few, every] = [await groupsIn(some), await groupsIn(all)]
    assert.equal(every.length, GROUPS)
    const leftOut = every.find(({ group }) => !few.some(each => each.group === group))
    assert.ok(leftOut !== undefined, `${few.length} groups in the common snapshot`)
    await server.tm.publish('topic-1', 4)
    await all.next(
      ({ event, data }) => event === 'live' && data.groups[`topic-1/${leftOut.group}`]?.[1] === 4,
      'the lag of a group that the overview leaves out',
    )
    await some.next(
      ({ event, data }) => event === 'live' && data.topics['topic-1']?.[3] === GROUPS * 4,
      'the lag of all groups of the topic',
    )
  })

  it('says how many topics it leaves out, and is streamed although it is larger than what a reader may leave unread', async () => {
    await using server = await serve({ limits: { streamBytes: 1_024 } })
    for (let topic = 0; topic < 2_003; topic++) await server.tm.configureTopic(`topic-${topic}`)
    const isWhole = ({ topics, omitted }: Body): boolean => topics.length === 2_000 && omitted === 3
    await until(async () => isWhole((await server.get('/api/v1/overview')).body), {
      what: 'an overview of 2000 topics',
    })
    await using events = await Listener.open(server.url, '/api/v1/events')
    const { data } = await events.next(({ event }) => event === 'snapshot', 'a snapshot')
    assert.ok(isWhole(data))
    await events.next(({ event }) => event === 'live', 'the next figures')
  })

  it('divides its room among the topics, and takes the dead before the lagging', () => {
    const group = (name: string, more: Partial<GroupLive> = {}): GroupLive =>
      ({ group: name, status: 'ACTIVE', healthy: true, deadLetters: 0, lagMessages: 0, ...more }) as GroupLive
    const topic = (groups: readonly GroupLive[]): TopicLive => ({ groups }) as TopicLive
    const names = (topics: readonly TopicLive[]): string[] =>
      topics.map(each => each.groups.map(of => of.group).join(''))
    const urgent = [
      group('a'),
      group('b', { lagMessages: 5_000 }),
      group('c', { status: 'DEAD' }),
      group('d', { deadLetters: 1 }),
      group('e', { healthy: false }),
      group('f', { status: 'CANCELLED', lagMessages: 10_000 }),
    ]
    const topics = [topic([group('x')]), topic(urgent), topic([]), topic(urgent.slice(0, 2))]
    assert.deepEqual(names(withShownGroups(topics, 9)), ['x', 'abcdef', '', 'ab'])
    assert.deepEqual(names(withShownGroups(topics, 6)), ['x', 'cde', '', 'ab'])
    assert.deepEqual(names(withShownGroups(topics, 5)), ['x', 'ce', '', 'ab'])
    assert.deepEqual(names(withShownGroups(topics, 1)), ['x', 'c', '', 'b'])
    // A few messages more or less change nothing; ten times as many do.
    const lagging = (a: number, b: number): TopicLive =>
      topic([group('a', { lagMessages: a }), group('b', { lagMessages: b })])
    assert.deepEqual(names(withShownGroups([lagging(110, 120)], 1)), ['a'])
    assert.deepEqual(names(withShownGroups([lagging(110, 1_200)], 1)), ['b'])
  })
})

const nameOf = (group: number): string => `group-${String(group).padStart(3, '0')}`

async function fill(tm: Tidemark, topic: string): Promise<void> {
  await tm.configureTopic(topic, { semantics: 'pub-sub' })
  await Promise.all(Array.from({ length: GROUPS }, (_, group) => tm.pull(topic, nameOf(group))))
}

type Body = { readonly topics: readonly TopicLive[]; readonly omitted: number }

function found(topics: readonly TopicLive[], name: string): TopicLive {
  const topic = topics.find(each => each.topic === name)
  assert.ok(topic !== undefined)
  return topic
}
