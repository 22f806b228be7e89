import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type IdempotencyTracker,
  MemoryIdempotencyTracker,
  MemoryRetryTracker,
  type RetryTracker,
} from '@tidemark/pipeline'
import { ConfigError } from 'tidemark'
import { ENGINES } from '../engines.ts'

const HOUR = 3_600_000

/** Trackers of two consumers that share what they track. */
type Shared = AsyncDisposable & {
  readonly idempotency: readonly [IdempotencyTracker, IdempotencyTracker]
  readonly retries: readonly [RetryTracker, RetryTracker]
  letTimePass(ms: number): Promise<void>
}

const KINDS: readonly { readonly name: string; fresh(): Promise<Shared> }[] = [
  {
    name: 'in memory',
    async fresh() {
      let now = Date.now()
      const clock = () => now
      const idempotency = new MemoryIdempotencyTracker({ clock })
      const retries = new MemoryRetryTracker({ clock })
      return {
        idempotency: [idempotency, idempotency],
        retries: [retries, retries],
        async letTimePass(ms) {
          now += ms
        },
        async [Symbol.asyncDispose]() {},
      }
    },
  },
  ...ENGINES.map(({ name, fresh }) => ({
    name: `on ${name}`,
    async fresh(): Promise<Shared> {
      const place = await fresh()
      const [first, second] = [await place.open(), await place.open()]
      return {
        idempotency: [first.idempotency, second.idempotency],
        retries: [first.retries, second.retries],
        async letTimePass(ms) {
          await place.execute(`update run.processed_key set marked_at = marked_at - ${ms}`)
          await place.execute(`update run.retry_count set first_at = first_at - ${ms}, last_at = last_at - ${ms}`)
        },
        [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
      }
    },
  })),
]

for (const kind of KINDS) {
  describe(`an idempotency tracker ${kind.name}`, () => {
    it('marks once, visible to every consumer', async () => {
      await using shared = await kind.fresh()
      const [first, second] = shared.idempotency
      assert.equal(await second.isProcessed('environment', 'batch-1'), false)
      assert.equal(await first.markProcessed('environment', 'batch-1'), true)
      assert.equal(await second.markProcessed('environment', 'batch-1'), false)
      assert.equal(await second.isProcessed('environment', 'batch-1'), true)
      assert.equal(await second.isProcessed('organism', 'batch-1'), false)
    })

    it('returns true to one of many concurrent callers', async () => {
      await using shared = await kind.fresh()
      const marks = Array.from({ length: 20 }, (_, index) => shared.idempotency[index % 2]?.markProcessed('all', 'one'))
      assert.equal((await Promise.all(marks)).filter(isFirst => isFirst).length, 1)
    })

    it('removes entries older than the limit', async () => {
      await using shared = await kind.fresh()
      const [first] = shared.idempotency
      await first.markProcessed('environment', 'old')
      await shared.letTimePass(2 * HOUR)
      await first.markProcessed('environment', 'new')
      assert.equal(await first.prune(HOUR), 1)
      assert.equal(await first.isProcessed('environment', 'old'), false)
      assert.equal(await first.isProcessed('environment', 'new'), true)
    })

    it('refuses keys that not every store can keep', async () => {
      await using shared = await kind.fresh()
      const [tracker] = shared.idempotency
      for (const key of ['', 'a\0b', '\ud800', 'x'.repeat(2_001)]) {
        await assert.rejects(tracker.markProcessed('scope', key), ConfigError)
        await assert.rejects(tracker.isProcessed('scope', key), ConfigError)
      }
    })
  })

  describe(`a retry tracker ${kind.name}`, () => {
    it('counts the failures of all consumers together', async () => {
      await using shared = await kind.fresh()
      const counts = Array.from({ length: 20 }, (_, index) => shared.retries[index % 2]?.increment('dummy', 'poison'))
      assert.deepEqual(
        (await Promise.all(counts)).toSorted((a, b) => Number(a) - Number(b)),
        Array.from({ length: 20 }, (_, index) => index + 1),
      )
      const state = await shared.retries[0].state('dummy', 'poison')
      assert.deepEqual([state?.count, state?.isDeadLettered], [20, false])
      assert.equal(await shared.retries[0].state('other', 'poison'), null)
    })

    it('knows when it failed first and last', async () => {
      await using shared = await kind.fresh()
      const [tracker] = shared.retries
      await tracker.increment('dummy', 'a')
      await shared.letTimePass(HOUR)
      await tracker.increment('dummy', 'a')
      const state = await tracker.state('dummy', 'a')
      assert.ok(state)
      assert.ok(state.lastAt - state.firstAt >= HOUR && state.lastAt - state.firstAt < 1.1 * HOUR)
    })

    it('lets one consumer write the dead letter', async () => {
      await using shared = await kind.fresh()
      await shared.retries[0].increment('dummy', 'poison')
      const marks = Array.from({ length: 10 }, (_, index) =>
        shared.retries[index % 2]?.markDeadLettered('dummy', 'poison'),
      )
      assert.equal((await Promise.all(marks)).filter(isFirst => isFirst).length, 1)
      const state = await shared.retries[1].state('dummy', 'poison')
      assert.deepEqual([state?.count, state?.isDeadLettered], [1, true])
      assert.equal(await shared.retries[1].increment('dummy', 'poison'), 2)
      assert.equal(await shared.retries[0].markDeadLettered('dummy', 'poison'), false)
      assert.equal(await shared.retries[1].markDeadLettered('dummy', 'never failed'), true)
    })

    it('starts again after a success', async () => {
      await using shared = await kind.fresh()
      const [tracker] = shared.retries
      await tracker.increment('dummy', 'a')
      await tracker.markDeadLettered('dummy', 'a')
      await tracker.reset('dummy', 'a')
      assert.equal(await tracker.state('dummy', 'a'), null)
      assert.equal(await tracker.increment('dummy', 'a'), 1)
      assert.equal(await tracker.markDeadLettered('dummy', 'a'), true)
    })

    it('removes entries whose last failure is older than the limit', async () => {
      await using shared = await kind.fresh()
      const [tracker] = shared.retries
      await tracker.increment('dummy', 'old')
      await tracker.increment('dummy', 'again')
      await shared.letTimePass(2 * HOUR)
      await tracker.increment('dummy', 'again')
      assert.equal(await tracker.prune(HOUR), 1)
      assert.equal(await tracker.state('dummy', 'old'), null)
      assert.equal(await tracker.increment('dummy', 'again'), 3)
    })
  })
}

describe('a tracker in memory', () => {
  it('keeps at most maxEntries, the most recently used', async () => {
    const tracker = new MemoryIdempotencyTracker({ maxEntries: 2 })
    await tracker.markProcessed('a', '1')
    await tracker.markProcessed('a', '2')
    await tracker.isProcessed('a', '1')
    await tracker.markProcessed('a', '3')
    assert.equal(tracker.size, 2)
    assert.deepEqual(await Promise.all(['1', '2', '3'].map(key => tracker.isProcessed('a', key))), [true, false, true])
    const retries = new MemoryRetryTracker({ maxEntries: 10 })
    for (let index = 0; index < 100; index++) await retries.increment('a', String(index))
    assert.equal(retries.size, 10)
  })

  it('refuses options it does not know', () => {
    assert.throws(() => new MemoryRetryTracker({ maxEntries: 0 }), /maxEntries/)
    assert.throws(() => new MemoryIdempotencyTracker({ max: 1 } as object), ConfigError)
  })
})
