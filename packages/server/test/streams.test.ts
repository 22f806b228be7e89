import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { until } from '../../../testing/until.ts'
// Inside: published between two steps of the tail, a moment that no client can hit.
import { tailTopic } from '../src/streams/tail-topic.ts'
import { serve } from './servers.ts'
import { Listener, type Received } from './streams.ts'

const TAIL = '/api/v1/topics/work/messages/tail'
const payloads = ({ events }: Listener): unknown[] => events.map(({ data }) => data.payload)

describe('the tail of a topic', () => {
  it('delivers what is published from now on, and consumes nothing', async () => {
    await using server = await serve()
    await server.tm.publish('work', 'before')
    await using tail = await Listener.open(server.url, TAIL)
    assert.equal(tail.response.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(tail.response.headers['x-content-type-options'], 'nosniff')
    await server.tm.publish('work', { n: 1 }, { key: 'k' })
    const { event, data, id } = await tail.next(() => true, 'the message')
    assert.deepEqual([event, data.payload, data.key, id], ['message', { n: 1 }, 'k', String(data.id)])
    assert.equal((await server.post('/api/v1/topics/work/pull', { max: 5 })).body.messages.length, 2)
  })

  it('continues after the last event that was seen, each message once', async () => {
    await using server = await serve()
    const published = await server.tm.publishBatch('work', [1, 2, 3])
    await using tail = await Listener.open(server.url, TAIL, { 'last-event-id': String(published[0]?.id) })
    await tail.next(({ data }) => data.payload === 3, 'what was missed')
    await server.tm.publishBatch('work', [4, 5])
    await tail.next(({ data }) => data.payload === 5, 'what is new')
    assert.deepEqual(payloads(tail), [2, 3, 4, 5])
  })

  it('delivers what is published while it catches up, once', async () => {
    await using server = await serve()
    const [first] = await server.tm.publishBatch('work', [1, 2])
    const ended = new AbortController()
    const tail = await tailTopic(server.tm, 'work', first?.id, { answerBytes: 1_000_000, streamBytes: 1_000_000 })
    await server.tm.publish('work', 3)
    const seen: unknown[] = []
    for await (const { payload } of tail.messages(ended.signal)) {
      seen.push(payload)
      if (payload === '3') await server.tm.publish('work', 4)
      if (payload === '4') ended.abort()
    }
    assert.deepEqual(seen, ['2', '3', '4'])
  })

  it('sends a sign of life', async () => {
    await using server = await serve({ limits: { heartbeatMs: 20, bodyTimeoutMs: 40 } })
    await server.tm.configureTopic('work')
    await using tail = await Listener.open(server.url, TAIL)
    await until(() => tail.text.split('\n: \n').length > 10, { what: 'ten heartbeats' })
    assert.equal(tail.isEnded, false)
  })

  it('ends when the server closes, and is refused for a missing topic', async () => {
    await using server = await serve()
    assert.equal((await server.get(TAIL)).body.code, 'TIDEMARK_TOPIC_NOT_FOUND')
    await server.tm.configureTopic('work')
    await using tail = await Listener.open(server.url, TAIL)
    await server.server.close()
    await until(() => tail.isEnded, { what: 'the end of the stream' })
  })

  it('disconnects a reader that reads nothing, and buffers little for it', async () => {
    await using server = await serve({ limits: { streamBytes: 20_000, heartbeatMs: 50 } })
    await server.tm.configureTopic('work')
    const { port, hostname } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write(`GET ${TAIL} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    const isOpen = async () => (await server.get('/metrics')).text.includes('tidemark_http_open{kind="streams"} 1')
    await until(isOpen, { what: 'the stream to be open' })
    socket.pause()
    const payload = 'x'.repeat(500_000)
    for (let n = 0; n < 40; n++) await server.tm.publish('work', payload)
    await until(async () => !(await isOpen()), { what: 'the reader to be dropped' })
    socket.destroy()
  })
})

describe('streams', () => {
  it('are limited: the next one is refused, until one ends', async () => {
    await using server = await serve({ limits: { streams: 3 } })
    const open = await Promise.all([1, 2, 3].map(() => Listener.open(server.url, '/api/v1/events')))
    const refused = await server.get('/api/v1/events')
    assert.deepEqual([refused.status, refused.body.code], [503, 'TIDEMARK_TOO_MANY'])
    await open[0]?.[Symbol.asyncDispose]()
    await until(async () => (await server.get('/metrics')).text.includes('{kind="streams"} 2'), {
      what: 'a free place',
    })
    await using again = await Listener.open(server.url, '/api/v1/events')
    assert.equal(again.response.statusCode, 200)
    for (const each of open) await each[Symbol.asyncDispose]()
  })

  it('by the thousand do no harm', async () => {
    await using server = await serve({ limits: { streams: 50 } })
    await server.tm.configureTopic('work')
    const answers = await Promise.all(
      Array.from({ length: 2_000 }, async () => {
        const listener = await Listener.open(server.url, '/api/v1/events').catch(() => undefined)
        return { listener, status: listener?.response.statusCode }
      }),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 50)
    assert.equal((await server.post('/api/v1/topics/work/messages', { payload: 1 })).status, 201)
    for (const { listener } of answers) await listener?.[Symbol.asyncDispose]()
    await until(async () => (await server.get('/metrics')).text.includes('{kind="streams"} 0'), {
      what: 'all to be gone',
    })
  })

  it('do not support HEAD', async () => {
    await using server = await serve()
    assert.equal((await server.call('HEAD', '/api/v1/events')).status, 404)
  })
})

describe('the stream of events', () => {
  it('reports what happens in topics, and sums up what happens often', async () => {
    await using server = await serve()
    await server.tm.configureTopic('work', { maxAttempts: 1 })
    await using events = await Listener.open(server.url, '/api/v1/events')
    await server.tm.publishBatch('work', [1, 2, 3])
    const activity = await events.next(({ event }) => event === 'activity', 'the activity')
    assert.equal(activity.data.topics.work.published, 3)
    const { receipt, messages } = (await server.post('/api/v1/topics/work/pull')).body
    await server.post('/api/v1/settle', { receipt, nacks: [{ id: messages[0].id, error: { message: 'no' } }] })
    const dead = await events.next(({ data }) => data.name === 'dead-lettered', 'the dead letter')
    assert.deepEqual(dead.data, { name: 'dead-lettered', topic: 'work', group: '', count: 1 })
    const nacked = await events.next(({ data }) => data.name === 'nacked', 'the nack')
    assert.deepEqual(nacked.data.error, { name: 'Error', message: 'no' })
  })

  it("continues after the last event that was seen, and reports if it can't", async () => {
    await using server = await serve()
    const deleted =
      (topic: string) =>
      ({ event, data }: Received) =>
        event === 'topic' && data.topic === topic
    const missed = ({ event }: Received) => event === 'missed'
    await using first = await Listener.open(server.url, '/api/v1/events')
    await server.tm.configureTopic('a')
    await server.tm.admin.deleteTopic('a')
    const seen = await first.next(deleted('a'), 'the first event')
    await server.tm.configureTopic('b')
    await server.tm.admin.deleteTopic('b')
    await first.next(deleted('b'), 'the second event')
    await using second = await Listener.open(server.url, '/api/v1/events', { 'last-event-id': String(seen.id) })
    await second.next(deleted('b'), 'the event that was missed')
    assert.deepEqual([second.events.some(deleted('a')), second.events.some(missed)], [false, false])
    // A browser that opens a new stream cannot send the header.
    await using third = await Listener.open(server.url, `/api/v1/events?after=${seen.id}`)
    await third.next(deleted('b'), 'the event that was missed, asked for in the address')
    assert.deepEqual([third.events.some(deleted('a')), third.events.some(missed)], [false, false])
    await using other = await Listener.open(server.url, '/api/v1/events', { 'last-event-id': 'other-1' })
    const told = await other.next(missed, 'what was missed')
    const life = String(seen.id).split('-')[0] ?? ''
    assert.deepEqual([told.data.reason, told.data.from], ['restarted', 'other-1'])
    assert.match(told.data.to, new RegExp(`^${life}-\\d+$`))
    assert.equal(other.events.some(deleted('b')), false)
  })

  it('says that what is no longer kept was missed', async () => {
    await using server = await serve()
    await using first = await Listener.open(server.url, '/api/v1/events')
    await server.tm.configureTopic('work')
    const ofTopic = ({ event }: Received) => event === 'topic'
    const redriveNothing = () => server.tm.admin.redrive('work', { all: true })
    await redriveNothing()
    const seen = await first.next(ofTopic, 'the first event')
    // One event each, and a thousand are kept.
    for (let n = 0; n < 1_050; n++) await redriveNothing()
    await until(() => first.events.filter(ofTopic).length > 1_050, { what: 'all of them' })
    await using second = await Listener.open(server.url, '/api/v1/events', { 'last-event-id': String(seen.id) })
    const told = await second.next(({ event }) => event === 'missed', 'what was missed')
    assert.deepEqual([told.data.reason, told.data.from], ['too-old', seen.id])
    await until(() => second.events.filter(ofTopic).length > 900, { what: 'the events that are still kept' })
    const numberOf = (id: unknown): number => Number(String(id).split('-')[1])
    assert.equal(numberOf(second.events.find(({ id }) => id !== undefined)?.id), numberOf(told.data.to) + 1)
    // One event is enough.
    const newest = numberOf(first.events.findLast(({ id }) => id !== undefined)?.id)
    const justTooOld = String(seen.id).replace(/\d+$/, String(newest - 1_001))
    await using third = await Listener.open(server.url, '/api/v1/events', { 'last-event-id': justTooOld })
    const { data } = await third.next(({ event }) => event === 'missed', 'the event that was missed')
    assert.deepEqual([data.reason, data.from], ['too-old', justTooOld])
  })

  it('disconnects a reader that reads nothing', async () => {
    await using server = await serve({ limits: { streamBytes: 2_000, heartbeatMs: 600_000 } })
    const { port, hostname } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write('GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n')
    const isOpen = async () => (await server.get('/metrics')).text.includes('tidemark_http_open{kind="streams"} 1')
    await until(isOpen, { what: 'the stream to be open' })
    socket.pause()
    await server.tm.configureTopic('work', { maxAttempts: 1_000 })
    await server.tm.publish('work', 1)
    const message = 'x'.repeat(2_000)
    const nackOnce = async () => {
      const { receipt, messages } = (await server.post('/api/v1/topics/work/pull')).body
      const nacks = [{ id: messages[0].id, error: { message }, delay: 0 }]
      await Promise.all(Array.from({ length: 20 }, () => server.post('/api/v1/settle', { receipt, nacks })))
    }
    await until(
      async () => {
        await nackOnce()
        return !(await isOpen())
      },
      { what: 'the reader to be dropped', timeout: 60_000 },
    )
    socket.destroy()
  })
})
