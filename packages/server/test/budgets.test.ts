import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import type { Cells, Tick } from '@tidemark/pipeline'
import { open } from 'tidemark'
import { freshDatabase } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { type Answer, SILENT, serve, type TestServer } from './servers.ts'
import { Listener } from './streams.ts'
import { metadataOf, RUN_ID, startWorld, tickOf, ticksOf, type World } from './worlds.ts'

const MIB = 1024 ** 2
const BUDGET = MIB
/** The braces, names and next of an answer. */
const AROUND = 200

/** Every page of a list; none may be larger than the budget. */
async function pagesOf(get: (query: string) => Promise<Answer>, start = ''): Promise<Answer[]> {
  const pages: Answer[] = []
  for (let query = start; ; ) {
    const page = await get(query)
    assert.equal(page.status, 200, page.text.slice(0, 500))
    assert.ok(page.bytes.length <= BUDGET + AROUND, `${page.bytes.length} bytes`)
    pages.push(page)
    if (page.body.next === null) return pages
    query = `after=${page.body.next}`
  }
}

const ENGINES = [
  { name: 'SQLite', serve: () => serve({ limits: { answerBytes: BUDGET } }) },
  { name: 'PostgreSQL', serve: serveOnPostgres },
]

for (const engine of ENGINES) {
  describe(`the byte budget of answers, on ${engine.name}`, () => {
    it('ends a page of messages, and the next page continues', async () => {
      await using server = await engine.serve()
      await server.tm.configureTopic('work', { maxMessageBytes: 4 * MIB })
      const sizes = [...Array.from({ length: 12 }, () => 200_000), 3 * MIB, 10, 20]
      const refs = await server.tm.publishBatch(
        'work',
        sizes.map((size, n) => (n % 2 === 0 ? 'x'.repeat(size) : Buffer.alloc(size))),
      )
      const pages = await pagesOf(query => server.get(`/api/v1/topics/work/messages?limit=1000&${query}`))
      const messages = pages.flatMap(({ body }) => body.messages)
      assert.deepEqual(
        messages.map(({ id }) => id),
        refs.map(({ id }) => id),
      )
      assert.ok(pages.length >= 4)
      const large = messages[12]
      assert.ok(large.omittedBytes >= 3 * MIB)
      assert.deepEqual([large.payload, large.payloadBase64], [undefined, undefined])
      assert.equal(messages[0].payload.length, 200_000)
      assert.equal(Buffer.from(messages[1].payloadBase64, 'base64').length, 200_000)
      const back = await server.get('/api/v1/topics/work/messages?limit=1000&order=newest-first')
      assert.ok(back.bytes.length <= BUDGET + AROUND && back.body.next !== null)
    })

    it('ends a page of dead letters and of retries', async () => {
      await using server = await engine.serve()
      await server.tm.configureTopic('work', { maxAttempts: 1, maxMessageBytes: 4 * MIB })
      await server.tm.configureTopic('again', { maxAttempts: 5, backoff: { initial: '1h', max: '1h' } })
      await server.tm.publishBatch('work', [
        ...Array.from({ length: 9 }, () => 'x'.repeat(300_000)),
        'y'.repeat(3 * MIB),
      ])
      await server.tm.publishMessages(
        'again',
        Array.from({ length: 400 }, () => ({ payload: 1, key: 'k'.repeat(1_000) })),
      )
      for (const [topic, count] of [
        ['work', 10],
        ['again', 400],
      ] as const) {
        const { receipt } = await server.tm.pull(topic, undefined, { max: count, maxBytes: 32 * MIB })
        const { messages } = await server.tm.admin.browse(topic, { limit: 1_000 })
        await server.tm.settle(receipt ?? '', {
          nacks: messages.map(({ id }) => ({ id, error: new Error('n'.repeat(2_000)) })),
        })
      }
      const letters = await pagesOf(query => server.get(`/api/v1/topics/work/dead-letters?limit=1000&${query}`))
      const all = letters.flatMap(({ body }) => body.deadLetters)
      assert.deepEqual([all.length, new Set(all.map(({ id }) => id)).size, letters.length > 3], [10, 10, true])
      assert.ok(all[9].omittedBytes >= 3 * MIB)
      const one = await server.get(`/api/v1/topics/work/dead-letters/${all[9].id}`)
      assert.ok(one.status === 200 && one.bytes.length < BUDGET && one.body.omittedBytes >= 3 * MIB)
      const retries = await pagesOf(query => server.get(`/api/v1/topics/again/groups/any/retries?limit=1000&${query}`))
      assert.deepEqual([retries.flatMap(({ body }) => body.retries).length, retries.length > 1], [400, true])
    })

    it('leaves what is too large out of a tail, which delivers the rest', async () => {
      await using server = await engine.serve()
      await server.tm.configureTopic('work', { maxMessageBytes: 4 * MIB })
      const [first] = await server.tm.publishBatch('work', [
        1,
        'x'.repeat(600_000),
        'y'.repeat(3 * MIB),
        'z'.repeat(600_000),
      ])
      const path = '/api/v1/topics/work/messages/tail'
      await using tail = await Listener.open(server.url, path, { 'last-event-id': String(first?.id) })
      await server.tm.publishBatch('work', ['l'.repeat(3 * MIB), 2])
      await tail.next(({ data }) => data.payload === 2, 'what is new')
      assert.deepEqual(
        tail.events.map(({ data }) => data.payload?.length ?? data.payload ?? 'left out'),
        [600_000, 'left out', 600_000, 'left out', 2],
      )
    })
  })
}

describe('readers that read nothing', () => {
  it('are limited in bytes for all of them together, and the next is refused', async () => {
    await using server = await serve({ limits: { unsentBytes: 30 * MIB } })
    await server.tm.configureTopic('work')
    await server.tm.publishBatch(
      'work',
      Array.from({ length: 12 }, () => 'x'.repeat(MIB - 100)),
    )
    const path = '/api/v1/topics/work/messages'
    const { hostname, port } = new URL(server.url)
    const sockets = Array.from({ length: 8 }, () => connect(Number(port), hostname))
    for (const socket of sockets) socket.pause().write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    const refused = await until(
      async () => {
        const answer = await server.get(path)
        return answer.status === 503 && answer
      },
      { what: 'a refusal' },
    )
    assert.equal(refused.body.code, 'TIDEMARK_UNSENT_ANSWERS')
    for (const socket of sockets) socket.destroy()
    await until(async () => (await server.get(path)).status === 200, { what: 'room again' })
  })
})

describe('a payload in an answer', () => {
  it('is what was stored, digit for digit, and in one line of a stream', async () => {
    await using server = await serve()
    const raw = '{"payload":{"n":12345678901234567890,"text":"a\\nb","list":[1.10,2]}}'
    const headers = { 'content-type': 'application/json' }
    await using tail = await (async () => {
      await server.tm.configureTopic('work')
      return await Listener.open(server.url, '/api/v1/topics/work/messages/tail')
    })()
    await server.call('POST', '/api/v1/topics/work/messages', { raw, headers })
    const { text } = await server.get('/api/v1/topics/work/messages')
    assert.equal(JSON.parse(text).messages[0].payload.text, 'a\nb')
    assert.equal((await tail.next(() => true, 'the message')).data.payload.text, 'a\nb')
  })
})

describe('a large tick as JSON', () => {
  // What the queue of the default configuration takes.
  const CELLS = 600_000
  const indexed = async (): Promise<World> => {
    const world = await startWorld({ limits: { answerBytes: 4 * MIB } })
    await world.post('/api/v1/ingest/metadata', {
      ...metadataOf(RUN_ID),
      environment: { shape: [1000, 1000], topology: 'torus' },
    })
    const tick = (number: number, cells: Cells): Tick => ({ ...tickOf(RUN_ID, number), cells })
    const ticks = [tick(0, cellsOf(CELLS, 0)), tick(1, cellsOf(CELLS, 1)), tick(2, cellsOf(10, 0))]
    for (const each of ticks) assert.equal((await world.ingest([each])).status, 202)
    await world.indexed(2)
    return world
  }

  it('comes in pages, which together are the tick, and blocks nobody', async () => {
    await using world = await indexed()
    const path = `/api/v1/runs/${RUN_ID}/environment/0`
    const flat: number[] = []
    let pages = 0
    let asked = 0
    for (let after: number | null = -1; after !== null; pages++) {
      const query: string = after < 0 ? '' : `?after=${after}`
      let isDone = false
      const page = world.get(path + query, { accept: 'application/json' }).finally(() => (isDone = true))
      // Asked again and again while the page is made: one at a time, each when the one before was answered.
      while (!isDone) {
        assert.equal((await world.get('/api/v1/openapi.json')).status, 200)
        asked++
      }
      const { status, body, bytes } = await page
      assert.equal(status, 200)
      assert.ok(bytes.length <= 4 * MIB + AROUND)
      for (const each of body.flatIndex) flat.push(each)
      assert.ok(
        [body.moleculeType, body.moleculeValue, body.ownerId].every(({ length }) => length === body.flatIndex.length),
      )
      after = body.next
    }
    assert.ok(pages >= 2 && asked >= pages, `${pages} pages, ${asked} other answers`)
    assert.equal(flat.length, CELLS)
    assert.ok(flat.every((index, place) => index === place))
    const whole = await world.get(path)
    assert.equal(whole.status, 200)
    assert.equal((await world.get(`${path}?after=5`)).status, 400)
  })

  it('as a difference comes in pages too', async () => {
    await using world = await indexed()
    for (const [to, expected] of [
      [1, { set: CELLS, emptied: 0 }],
      [2, { set: 0, emptied: CELLS - 10 }],
    ] as const) {
      const counts = { set: 0, emptied: 0 }
      let last = -1
      let pages = 0
      for (let after: number | null = -1; after !== null; pages++) {
        const query: string = after < 0 ? '' : `&after=${after}`
        const { status, body, bytes } = await world.get(`/api/v1/runs/${RUN_ID}/difference?from=0&to=${to}${query}`)
        assert.equal(status, 200)
        assert.ok(bytes.length <= 4 * MIB + AROUND)
        for (const list of [body.set.flatIndex, body.emptied]) {
          if (list.length > 0) assert.ok(list[0] > last)
        }
        counts.set += body.set.flatIndex.length
        counts.emptied += body.emptied.length
        last = Math.max(last, body.set.flatIndex.at(-1) ?? -1, body.emptied.at(-1) ?? -1)
        after = body.next
      }
      assert.ok(pages >= 2)
      assert.deepEqual(counts, expected)
    }
  })
})

describe('organisms with large genomes', () => {
  it('come in pages, and a life too', async () => {
    await using world = await startWorld({ limits: { answerBytes: BUDGET } })
    await world.post('/api/v1/ingest/metadata', metadataOf(RUN_ID))
    const genome = new Uint8Array(60_000).fill(7)
    const ticks = ticksOf(RUN_ID, 0, 29).map((tick): Tick => {
      const [one] = tick.organisms
      assert.ok(one)
      return {
        ...tick,
        organisms: Array.from({ length: tick.tick === 5 ? 40 : 1 }, (_, n) => ({ ...one, id: n + 1, genome })),
      }
    })
    assert.equal((await world.ingest(ticks)).status, 202)
    await world.indexed(29)
    const run = `/api/v1/runs/${RUN_ID}`
    const pages = await pagesOf(query => world.get(`${run}/ticks/5/organisms?${query}`))
    const ids = pages.flatMap(({ body }) => body.organisms.map(({ id }: { id: number }) => id))
    assert.deepEqual(
      ids,
      Array.from({ length: 40 }, (_, n) => n + 1),
    )
    assert.ok(pages.length > 2 && pages.every(({ body }) => body.total === 40))
    const seen = new Set<number>()
    let lives = 0
    for (let from: number | null = 0; from !== null; lives++) {
      const { body, bytes }: Answer = await world.get(`${run}/organisms/1/life?from=${from}`)
      assert.ok(bytes.length <= BUDGET + AROUND)
      for (const { tick } of body.life) seen.add(tick)
      from = body.next
    }
    assert.deepEqual([seen.size, lives > 1], [30, true])
  })
})

function cellsOf(count: number, more: number): Cells {
  const flatIndex = Int32Array.from({ length: count }, (_, place) => place)
  return {
    flatIndex,
    moleculeType: flatIndex.map(() => 1),
    moleculeValue: flatIndex.map(index => (index % 1000) + more),
    ownerId: flatIndex.map(index => index % 100),
  }
}

async function serveOnPostgres(): Promise<TestServer> {
  const { url, drop } = await freshDatabase()
  const topics = await open(url, { logger: SILENT, maintenance: false })
  const server = await serve({ topics, limits: { answerBytes: BUDGET } })
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await drop()
    },
  }
}
