import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { until } from '../../../../testing/until.ts'
import { batchOf, type IdempotencyTracker, MemoryIdempotencyTracker, makeRunId } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { metric, Workbench, withMethods } from './workbench.ts'

describe('a duplicate tick', () => {
  it('in the same batch is counted and left out', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 6 })
    await service.start()
    await bench.put(ticksOf([0, 0, 1, 1, 2, 0]))
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ranges(), [[0, 2]])
    assert.equal(service.status().metrics.duplicateTicks, 3)
  })

  it('in a later batch is counted and left out', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 5 })
    await service.start()
    await bench.put([...ticksOf(range(0, 5)), ...ticksOf(range(2, 5)), ...ticksOf(range(0, 5))])
    await metric(service, 'duplicateTicks', 8)
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ranges(), [
      [0, 4],
      [5, 6],
    ])
    await service.stop()
    assert.equal((await bench.announced()).length, 2)
  })

  it('while another instance is still storing it is left out', async () => {
    await using bench = await Workbench.open()
    const gate = Promise.withResolvers<void>()
    const slow = withMethods(bench.storage, {
      writeBatch: async batch => {
        await gate.promise
        return await bench.storage.writeBatch(batch)
      },
    })
    const first = bench.persistence({ maxBatchSize: 5, concurrentBatches: 1 }, { storage: slow }, 'first')
    await first.start()
    await bench.put(ticksOf(range(0, 5)))
    await until(() => bench.queue.metrics.items === 0, { what: 'the first to take them' })
    const second = bench.persistence({ maxBatchSize: 5 }, {}, 'second')
    await second.start()
    await bench.put(ticksOf(range(0, 5)))
    await metric(second, 'duplicateTicks', 5)
    gate.resolve()
    await metric(first, 'notificationsSent', 1)
    assert.deepEqual(await bench.ranges(), [[0, 4]])
  })

  it('after a restart, in other batches and with other bytes, is left out: the storage has it', async () => {
    await using bench = await Workbench.open()
    await bench.storage.writeBatch(batchOf(ticksOf(range(0, 10, 10))))
    await bench.storage.writeBatch(batchOf(ticksOf(range(200, 10, 10))))
    const service = bench.persistence({ maxBatchSize: 40 })
    await service.start()
    await bench.put(ticksOf(range(50, 40, 10), { genomeBytes: 40 }))
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ranges(), [
      [0, 90],
      [100, 190],
      [200, 290],
      [300, 440],
    ])
    assert.equal(service.status().metrics.duplicateTicks, 15)
    assert.equal(await bench.deadLetters.count(), 0)
  })

  it('of another run is not a duplicate', async () => {
    await using bench = await Workbench.open()
    const other = makeRunId()
    const service = bench.persistence({ maxBatchSize: 5 })
    await service.start()
    await bench.put([...ticksOf(range(0, 5)), ...ticksOf(range(0, 5), { runId: other })])
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ticks(other), range(0, 5))
    assert.equal(service.status().metrics.duplicateTicks, 0)
  })
})

describe('the tracker', () => {
  it('is marked after it is stored, never before', async () => {
    await using bench = await Workbench.open()
    const tracker = new MemoryIdempotencyTracker()
    const service = bench.persistence({ maxBatchSize: 5 }, { tracker })
    await service.start()
    await bench.put(ticksOf(range(0, 4)))
    await until(() => bench.queue.metrics.items === 0, { what: 'the ticks to be taken' })
    assert.equal(tracker.size, 0)
    await bench.put(ticksOf([4]))
    await metric(service, 'notificationsSent', 1)
    assert.equal(tracker.size, 5)
  })

  it('is trusted: what another process marked there is skipped without reading the storage', async () => {
    await using bench = await Workbench.open()
    const tracker = new MemoryIdempotencyTracker()
    for (const tick of [1, 2]) await tracker.markProcessed('persistence', `${RUN_ID}/${tick}`)
    const service = bench.persistence({ maxBatchSize: 5 }, { tracker })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ranges(), [
      [0, 0],
      [3, 4],
    ])
  })

  it('that fails is reported, and nothing is lost or stored twice', async () => {
    await using bench = await Workbench.open()
    const broken = (): Promise<never> => Promise.reject(new Error('The tracker is gone'))
    const tracker: IdempotencyTracker = { isProcessed: broken, markProcessed: broken, prune: broken }
    const service = bench.persistence({ maxBatchSize: 5 }, { tracker })
    await service.start()
    await bench.put([...ticksOf(range(0, 5)), ...ticksOf(range(0, 5)), ...ticksOf(range(5, 5))])
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ticks(), range(0, 10))
    assert.match(service.status().errors[0]?.error.message ?? '', /tracker is gone/)
  })

  it('that failed and works again is healthy again, even if all new ticks are stored already', async () => {
    await using bench = await Workbench.open()
    const tracker = new MemoryIdempotencyTracker()
    let isGone = false
    const answer = async <T>(work: () => Promise<T>): Promise<T> =>
      isGone ? Promise.reject(new Error('The tracker is gone')) : await work()
    const given: IdempotencyTracker = {
      isProcessed: (...asked) => answer(() => tracker.isProcessed(...asked)),
      markProcessed: (...marked) => answer(() => tracker.markProcessed(...marked)),
      prune: () => Promise.resolve(0),
    }
    const service = bench.persistence({ maxBatchSize: 5 }, { tracker: given })
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    // Until then the batch is in hand, and its ticks are known without the tracker.
    await metric(service, 'notificationsSent', 1)
    isGone = true
    await bench.put(ticksOf(range(0, 5)))
    await metric(service, 'duplicateTicks', 5)
    assert.equal(service.status().healthy, false)
    isGone = false
    await bench.put(ticksOf(range(0, 5)))
    await metric(service, 'duplicateTicks', 10)
    assert.deepEqual([service.status().healthy, service.status().errors], [true, []])
  })
})

/** Each of `lives` is what a service is sent between its start and its stop. */
async function live(bench: Workbench, lives: readonly (readonly number[])[], maxBatchSize: number): Promise<void> {
  for (const numbers of lives) {
    const service = bench.persistence({ maxBatchSize })
    await service.start()
    await bench.put(ticksOf(numbers))
    await service.stop()
    assert.equal(service.state, 'STOPPED')
  }
  const sent = [...new Set(lives.flat())].sort((a, b) => a - b)
  assert.deepEqual(
    (await bench.ticks()).toSorted((a, b) => a - b),
    sent,
  )
  assert.equal(await bench.deadLetters.count(), 0)
}

describe('with restarts', () => {
  const batchSizes = fc.integer({ min: 1, max: 12 })

  it('any sequence of ticks is stored with each tick once', async () => {
    const life = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 30 })
    const lives = fc.array(life, { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(lives, batchSizes, async (lives, maxBatchSize) => {
        await using bench = await Workbench.open()
        await live(bench, lives, maxBatchSize)
      }),
      { numRuns: 20 },
    )
  })

  it('a run that continues from any tick is stored in ranges that do not overlap', async () => {
    const life = fc.tuple(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 30 }))
    const lives = fc.array(life, { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(lives, batchSizes, async (lives, maxBatchSize) => {
        await using bench = await Workbench.open()
        const sent = lives.map(([start, count]) => range(start * 10, count, 10))
        await live(bench, sent, maxBatchSize)
        let previous = -1
        for (const [start, end] of await bench.ranges()) {
          assert.ok(start > previous, `a batch begins with ${start}, and one before it ends with ${previous}`)
          previous = end
        }
      }),
      { numRuns: 20 },
    )
  })
})
