import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { freshDatabase } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { fallingBehind } from '../src/live/falling-behind.ts'
import { RateHistory } from '../src/live/rate-history.ts'
import type { TopicLive } from '../src/live/shapes.ts'
import { SILENT, serve } from './servers.ts'
import { Listener, type Received } from './streams.ts'

const OPTIONS = { logger: SILENT, maintenance: false } as const

/** Reaches inside: nobody waits for a minute to see the minutes' ring turn. */
describe('the history of rates', () => {
  const look = (history: RateHistory, at: number, published: number, lag: number): void =>
    history.add(
      at,
      new Map([
        ['topic:a', { published }],
        ['group:a/g', { consumed: published - lag, lag }],
      ]),
    )

  it('gives rates as differences of positions, a mean between two reads, and null where nothing is known', () => {
    const history = new RateHistory()
    look(history, 10_000, 100, 0)
    look(history, 11_000, 110, 4)
    look(history, 13_000, 130, 0)
    assert.deepEqual(history.read('topic:a', '1s', 4, 13_000), { published: [null, 10, 10, 10] })
    assert.deepEqual(history.read('group:a/g', '1s', 4, 13_000), {
      consumed: [null, 6, 12, 12],
      lag: [0, 4, 4, 0],
    })
    assert.deepEqual(history.read('topic:a', '10s', 2, 13_000), { published: [null, null] })
    look(history, 20_000, 330, 0)
    assert.deepEqual(history.read('topic:a', '10s', 2, 20_000), { published: [null, 20] })
  })

  it('has no hole where nobody watched, and one where nothing was read for more than a minute', () => {
    const history = new RateHistory()
    for (const second of [0, 10, 20, 90, 91]) look(history, second * 1_000, second * 7, second)
    const { published, lag } = { published: [], lag: [], ...history.read('topic:a', '1s', 92, 91_000) }
    assert.deepEqual([...new Set(published.slice(1, 21))], [7])
    assert.deepEqual([...new Set(published.slice(21, 91))], [null])
    assert.equal(published[91], 7)
    assert.deepEqual(lag, [])
    const lags = history.read('group:a/g', '1s', 92, 91_000).lag ?? []
    assert.deepEqual([lags[9], lags[10], lags[19], lags[20], lags[21], lags[90]], [0, 10, 10, 20, null, 90])
    // A step without a read, in the coarser history too.
    assert.deepEqual(history.read('topic:a', '10s', 10, 91_000).published, [
      null,
      7,
      7,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
    ])
  })

  it('does not make a negative rate of a counter that starts again', () => {
    const history = new RateHistory()
    look(history, 1_000, 500, 0)
    look(history, 2_000, 3, 0)
    assert.deepEqual(history.read('topic:a', '1s', 1, 2_000), { published: [null] })
  })

  it('forgets what is gone, and keeps no more than its length', () => {
    const history = new RateHistory()
    for (let second = 0; second < 1_000; second++) look(history, second * 1_000, second, 0)
    assert.equal(history.read('topic:a', '1s', 1_000, 999_000).published?.filter(rate => rate !== null).length, 300)
    history.add(1_000_000, new Map())
    assert.equal(history.has('topic:a'), false)
    assert.deepEqual(history.read('topic:a', '1s', 3, 1_000_000), {})
  })
})

/** Reaches inside: four thousand series are too many for a test. */
describe('a history of more series than it keeps', () => {
  it('keeps the first, and those that somebody asks for', () => {
    const history = new RateHistory(2)
    const look = (at: number): void =>
      history.add(at, new Map(['topic:a', 'topic:b', 'topic:c', 'topic:d'].map(name => [name, { published: at }])))
    look(1_000)
    assert.deepEqual(['topic:a', 'topic:b', 'topic:c'].map(history.has), [true, true, false])
    assert.deepEqual(history.read('topic:c', '1s', 2, 1_000), {})
    look(2_000)
    look(3_000)
    assert.deepEqual(history.read('topic:c', '1s', 2, 3_000), { published: [null, 1_000] })
    assert.deepEqual(['topic:a', 'topic:c', 'topic:d'].map(history.has), [true, true, false])
  })
})

/** Reaches inside: nobody waits for a minute to see a group fall behind. */
describe('a group that falls behind', () => {
  const topics = (lagMessages: number, status = 'ACTIVE') =>
    [{ topic: 'a', groups: [{ group: 'g', status, lagMessages }] }] as unknown as readonly TopicLive[]
  const after = (lags: readonly number[]): RateHistory => {
    const history = new RateHistory()
    for (const [step, lag] of lags.entries()) history.add(step * 10_000, new Map([['group:a/g', { lag }]]))
    return history
  }
  const found = (lags: readonly number[], status?: string): (string | undefined)[] =>
    fallingBehind(topics(lags.at(-1) ?? 0, status), after(lags), (lags.length - 1) * 10_000).map(({ text }) => text)

  it('is told once its lag has grown for a minute', () => {
    assert.deepEqual(found([5, 10, 20, 30, 40, 50, 60]), [
      'a / g falls behind: 60 messages waiting, 55 more than a minute ago',
    ])
    assert.deepEqual(found([10, 20, 30, 40, 50, 60]), [])
  })

  it('is not told while it catches up now and then, is paused, or hardly grows', () => {
    assert.deepEqual(found([5, 10, 20, 15, 40, 50, 60]), [])
    assert.deepEqual(found([5, 10, 20, 30, 40, 50, 60], 'PAUSED'), [])
    assert.deepEqual(found([50, 50, 51, 51, 52, 52, 53]), [])
  })
})

describe('a minute of lags with a hole', () => {
  it('tells nothing about falling behind', () => {
    const found = (steps: readonly number[]) => {
      const history = new RateHistory()
      for (const step of steps) history.add(step * 10_000, new Map([['group:a/g', { lag: step * 10 }]]))
      const topics = [{ topic: 'a', groups: [{ group: 'g', status: 'ACTIVE', lagMessages: 70 }] }]
      return fallingBehind(topics as unknown as readonly TopicLive[], history, 70_000).length
    }
    assert.equal(found([0, 1, 2, 3, 4, 5, 6, 7]), 1)
    assert.equal(found([0, 1, 2, 4, 5, 6, 7]), 0)
  })
})

describe('the overview', () => {
  it('shows topics, groups and what needs attention, with rates of every process', async () => {
    const database = await freshDatabase()
    await using tm = await open(database.url, OPTIONS)
    await using other = await open(database.url, OPTIONS)
    await using server = await serve({ topics: tm })
    await tm.configureTopic('orders', { semantics: 'pub-sub', maxAttempts: 1 })
    const group = other.consumerGroup('orders', 'email')
    group.addConsumer('one', async () => {
      throw new Error('mailbox full')
    })
    await group.start({ from: 'beginning' })
    const published = setInterval(() => void other.publish('orders', { n: 1 }).catch(() => undefined), 20)
    try {
      const seen = await until(
        async () => {
          const { body } = await server.get('/api/v1/overview')
          const [topic] = body.topics
          const [email] = topic?.groups ?? []
          const isToldOf = body.attention.some((each: { kind: string }) => each.kind === 'dead-letters')
          return isToldOf && topic.publishedPerSecond > 0 && email?.consumedPerSecond > 0 ? body : undefined
        },
        { what: 'rates and dead letters in the overview' },
      )
      assert.equal(seen.topics[0].topic, 'orders')
      assert.equal(seen.topics[0].config.semantics, 'pub-sub')
      assert.ok(seen.topics[0].groups[0].deadLetters > 0)
      assert.equal(seen.pipeline, null)
      const series = encodeURIComponent('topic:orders,group:orders/email,topic:gone')
      const { body } = await server.get(`/api/v1/history?series=${series}&step=10s&points=30`)
      assert.equal(body.series['topic:orders'].published.length, 30)
      assert.deepEqual(body.series['topic:gone'], {})
    } finally {
      clearInterval(published)
      await group.stop()
      await database.drop()
    }
  })

  it('streams a snapshot first, then what changes', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders')
    await using events = await Listener.open(server.url, '/api/v1/events')
    await events.next(({ event }) => event === 'snapshot', 'a snapshot')
    assert.equal(events.events[0]?.event, 'hello')
    await server.tm.publish('orders', { n: 1 })
    await events.next(({ event, data }) => event === 'live' && data.topics.orders?.[0] === 1, 'the first message')
    await server.tm.configureTopic('later')
    await events.next(
      ({ event, data }) =>
        event === 'snapshot' && data.topics.some(({ topic }: { topic: string }) => topic === 'later'),
      'the new topic',
    )
  })

  it('reports that its figures are old when the database no longer answers', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders')
    await using events = await Listener.open(server.url, '/api/v1/events')
    const isToldOf = ({ event, data }: Received): boolean =>
      event === 'live' && data.attention?.[0]?.kind === 'database'
    await events.next(({ event }) => event === 'live', 'the first figures')
    assert.equal(events.events.some(isToldOf), false)
    await server.tm.close()
    await events.next(isToldOf, 'the silence to be told')
  })

  it('shows a reader with a limited role only its topics', async () => {
    const token = 'kJ8-vq2LmW9x_Tz4RbY7'
    await using server = await serve({
      authenticate: ({ headers }) =>
        headers.authorization === `Bearer ${token}` ? { name: 'shop', roles: ['read:orders.'] } : null,
    })
    await server.tm.configureTopic('orders.new')
    await server.tm.configureTopic('salaries')
    const authorization = { authorization: `Bearer ${token}` }
    const names = await until(
      async () => {
        const { body } = await server.get('/api/v1/overview', authorization)
        return body.topics.length > 0 && body.topics.map(({ topic }: { topic: string }) => topic)
      },
      { what: 'the topic that may be seen' },
    )
    assert.deepEqual(names, ['orders.new'])
    await using events = await Listener.open(server.url, '/api/v1/events', authorization)
    await events.next(({ event }) => event === 'snapshot', 'a snapshot')
    await server.tm.publish('salaries', 1)
    await server.tm.publish('orders.new', 1)
    await events.next(
      ({ event, data }) => event === 'live' && data.topics['orders.new'] !== undefined,
      'the message that may be seen',
    )
    assert.ok(!JSON.stringify(events.events).includes('salaries'))
  })

  it('reads the database once for all who watch, and a topic in detail once for all who look at it', async () => {
    await using server = await serve()
    await server.tm.configureTopic('orders', { semantics: 'pub-sub' })
    await server.tm.pull('orders', 'email')
    const counts = { stats: 0, lanes: 0 }
    const { admin } = server.tm
    const [stats, lanes] = [admin.stats, admin.lanes]
    // Real reads, counted on their way.
    Object.assign(admin, {
      stats: (...given: Parameters<typeof stats>) => {
        counts.stats++
        return stats(...given)
      },
      lanes: (...given: Parameters<typeof lanes>) => {
        counts.lanes++
        return lanes(...given)
      },
    })
    const open = () => Listener.open(server.url, '/api/v1/events?detail=topic:orders')
    await using one = await open()
    await using two = await open()
    await using three = await open()
    for (const each of [one, two, three]) {
      const first = await each.next(({ event }) => event === 'lanes', 'the topic in detail')
      assert.deepEqual([first.data.whole, first.data.buckets !== null], [true, true])
    }
    const before = { ...counts, lanesSeen: seen(one, 'lanes'), liveSeen: seen(one, 'live') + seen(one, 'snapshot') }
    await server.tm.publishBatch('orders', [1, 2, 3])
    await three.next(({ event, data }) => event === 'lanes' && data.last === 3, 'what was published')
    const moved = await one.next(
      ({ event, data }) => event === 'lanes' && data.groups[0]?.lagMessages === 3,
      'the lag of the group',
    )
    assert.equal(moved.data.whole, false)
    await until(() => seen(one, 'live') + seen(one, 'snapshot') > before.liveSeen, { what: 'another look' })
    const reads = counts.lanes - before.lanes
    assert.ok(reads <= seen(one, 'lanes') - before.lanesSeen + 2, `${reads} reads of the topic`)
    const looks = counts.stats - before.stats
    assert.ok(looks <= seen(one, 'live') + seen(one, 'snapshot') - before.liveSeen + 2, `${looks} reads of all topics`)
  })
})

const seen = ({ events }: Listener, name: string): number => events.filter(({ event }) => event === name).length

describe('facts about the server', () => {
  it('name the engine, the namespace and the roles of the caller, and how much is on the disk', async () => {
    await using server = await serve()
    await server.tm.publish('orders', { n: 1 })
    const { body } = await server.get('/api/v1/server')
    const { engine, namespace, roles, serves, disk } = body
    assert.deepEqual(
      { engine, namespace, roles, serves },
      {
        engine: 'sqlite',
        namespace: 'default',
        roles: [{ role: 'admin', topics: null }],
        serves: { topics: true, pipeline: false, runs: false, ingest: false },
      },
    )
    assert.ok(disk.database > 4_096, `${disk.database} bytes`)
    assert.equal(disk.storage, null)
  })
})
