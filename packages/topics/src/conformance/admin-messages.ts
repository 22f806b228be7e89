import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  type BrowseOptions,
  ClosedError,
  MessageNotFoundError,
  type StoredMessage,
  type Tidemark,
  TopicNotFoundError,
} from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { groupOf, range, soon } from './consuming.ts'
import { it } from './it.ts'
import { SeededRandom } from './seeded-random.ts'
import { until } from './until.ts'

const KEYS = ['a', 'b', undefined]

/** Messages of several keys and types, some with their own messageId. */
async function fill(tm: Tidemark, count: number): Promise<StoredMessage[]> {
  for (const number of range(1, count)) {
    const key = KEYS[number % KEYS.length]
    const payload = number % 4 === 0 ? new Uint8Array([number % 256]) : { number }
    await tm.publish('events', payload, {
      ...(key !== undefined && { key }),
      ...(number % 10 === 0 && { messageId: `mine-${number}` }),
    })
  }
  const { messages, next } = await tm.admin.browse('events', { limit: 1_000 })
  assert.equal(next, null)
  assert.equal(messages.length, count)
  return [...messages]
}

/** All pages of a query. */
async function browseAll(tm: Tidemark, options: BrowseOptions): Promise<StoredMessage[]> {
  const all: StoredMessage[] = []
  const turn = options.order === 'newest-first' ? 'before' : 'after'
  for (let next: number | null | undefined; next !== null; ) {
    const page = await tm.admin.browse('events', { ...options, ...(next !== undefined && { [turn]: next }) })
    assert.ok(page.messages.length <= (options.limit ?? 100))
    all.push(...page.messages)
    next = page.next
  }
  return all
}

function matches(message: StoredMessage, options: BrowseOptions): boolean {
  const { after, before, since, until: end, key, type } = options
  return (
    (after === undefined || message.id > Number(after)) &&
    (before === undefined || message.id < Number(before)) &&
    (since === undefined || message.createdAt.getTime() >= Number(since)) &&
    (end === undefined || message.createdAt.getTime() < Number(end)) &&
    (key === undefined || message.key === key) &&
    (type === undefined || message.type === type)
  )
}

export function adminMessages({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('admin.browse', () => {
        it('finds the same as a simple filter of all messages', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', partitionRows: 25 })
          const all = await fill(tm, 80)
          const times = all.map(({ createdAt }) => createdAt.getTime())
          const [first = 0, last = 0] = [times[0], times.at(-1)]
          const random = new SeededRandom()
          const between = (low: number, high: number) => low + random.below(high - low + 1)
          const options = {
            after: () => between(0, 90),
            before: () => between(0, 90),
            since: () => between(first - 2, last + 2),
            until: () => between(first - 2, last + 2),
            key: () => random.pick(['a', 'b', 'c']),
            type: () => random.pick(['json', 'bytes', 'other']),
            order: () => random.pick(['oldest-first', 'newest-first'] as const),
            limit: () => between(1, 40),
          }
          await random.named(async () => {
            for (let run = 0; run < 60; run++) {
              const chosen = Object.entries(options).filter(() => random.chance(0.5))
              const given: BrowseOptions = Object.fromEntries(chosen.map(([name, choose]) => [name, choose()]))
              // The position of a page replaces the corresponding option.
              const { after, before, ...rest } = given
              const wanted = {
                ...rest,
                ...(given.order === 'newest-first' && after !== undefined && { after }),
                ...(given.order !== 'newest-first' && before !== undefined && { before }),
              }
              const expected = all.filter(message => matches(message, wanted))
              if (given.order === 'newest-first') expected.reverse()
              assert.deepEqual(await browseAll(tm, wanted), expected, JSON.stringify(wanted))
            }
          })
        })

        it('shows the messages as they are stored, and consumes nothing', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.reader('events', { group: 'g' }).ready()
          const ref = await tm.publish('events', { a: 1 }, { key: 'k', headers: { h: 'v' } })
          await tm.publish('events', new Uint8Array([1, 2]), { messageId: 'mine' })
          const { messages } = await tm.admin.browse('events')
          const [json, bytes] = messages
          assert.deepEqual(
            { ...json, createdAt: null },
            {
              topic: 'events',
              id: ref.id,
              messageId: ref.messageId,
              key: 'k',
              type: 'json',
              headers: { h: 'v' },
              payload: '{"a":1}',
              createdAt: null,
            },
          )
          assert.deepEqual([bytes?.messageId, bytes?.type, bytes?.payload], ['mine', 'bytes', new Uint8Array([1, 2])])
          assert.equal((await groupOf(tm, 'events', 'g')).backlog, 2)
        })

        it('continues from a message, by its messageId', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const all = await fill(tm, 12)
          const ids = ({ messages }: { messages: readonly StoredMessage[] }) => messages.map(({ id }) => id)
          const published = ids(await tm.admin.browse('events', { limit: 12 }))
          assert.deepEqual(ids(await tm.admin.browse('events', { after: 'mine-10' })), published.slice(10))
          assert.deepEqual(
            ids(await tm.admin.browse('events', { before: all[2]?.messageId ?? '' })),
            published.slice(0, 2),
          )
          await assert.rejects(tm.admin.browse('events', { after: 'unknown' }), MessageNotFoundError)
        })
      })

      describe('admin.tail', () => {
        it('delivers what is published from now on, once, without consuming', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', partitionRows: 50 })
          await tm.reader('events', { group: 'g' }).ready()
          await tm.publish('events', 'before')
          const tail = await tm.admin.tail('events')
          await tm.publishBatch('events', range(1, 150))
          const seen: unknown[] = []
          const read = async () => {
            for await (const { payload } of tail) {
              seen.push(JSON.parse(String(payload)))
              if (seen.length === 151) return
            }
          }
          const reading = read()
          await until(() => seen.length === 150, { what: 'what was there' })
          await tm.publish('events', 151)
          await soon(reading, 'what came later')
          assert.deepEqual(seen, range(1, 151))
          assert.equal((await groupOf(tm, 'events', 'g')).backlog, 152)
        })

        it('ends at once with its signal, with close, and when its topic is deleted', async () => {
          await using database = await store.fresh()
          // So that only a wake-up can end the wait.
          const tm = await database.open({ sweepInterval: '1h' })
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          await tm.configureTopic('other', { semantics: 'pub-sub' })
          const drain = async (messages: AsyncIterable<StoredMessage>) => {
            for await (const message of messages) assert.fail(`unexpected ${message.id}`)
          }
          const controller = new AbortController()
          const aborted = drain(await tm.admin.tail('events', { signal: controller.signal }))
          const deleted = drain(await tm.admin.tail('other'))
          const closed = drain(await tm.admin.tail('events'))
          const late = await tm.admin.tail('events')
          controller.abort()
          await soon(aborted, 'the aborted tail')
          await soon(drain(await tm.admin.tail('events', { signal: AbortSignal.abort() })), 'one aborted before')
          const gone = assert.rejects(deleted, TopicNotFoundError)
          await tm.admin.deleteTopic('other')
          await soon(gone, 'the tail of the deleted topic')
          await tm.close()
          await soon(closed, 'the tail of a closed instance')
          await assert.rejects(late.next(), ClosedError)
        })
      })
    })
  }

  for (const store of shared) {
    describe(`${store.name}, shared`, () => {
      it('tails what another process publishes', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        await here.configureTopic('events', { semantics: 'pub-sub' })
        const tail = await here.admin.tail('events')
        const next = tail.next()
        await there.publish('events', 'hello')
        const { value } = await soon(next, 'the message')
        assert.equal(value?.payload, '"hello"')
        await tail.return()
      })
    })
  }
}
