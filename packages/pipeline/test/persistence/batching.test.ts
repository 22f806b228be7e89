import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from 'tidemark'
import { until } from '../../../../testing/until.ts'
import { BoundedQueue, type EncodedTick, makeRunId, tickHeadOf } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { metric, Workbench, withMethods } from './workbench.ts'

describe('a batch', () => {
  it('is written when it has the maximum number of ticks', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 10 })
    await service.start()
    await bench.put(ticksOf(range(0, 25)))
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ranges(), [
      [0, 9],
      [10, 19],
    ])
  })

  it('is written when it has the maximum number of bytes', async () => {
    await using bench = await Workbench.open()
    const ticks = ticksOf(range(0, 7), { genomeBytes: 10_000 })
    const service = bench.persistence({ maxBatchBytes: 35_000 })
    await service.start()
    await bench.put(ticks)
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(await bench.ranges(), [
      [0, 2],
      [3, 5],
    ])
  })

  it('is stored while the one before still is, and announced after it', async () => {
    await using bench = await Workbench.open()
    const gate = Promise.withResolvers<void>()
    const storage = withMethods(bench.storage, {
      writeBatch: async batch => {
        if (batch.tickStart === 0) await gate.promise
        return await bench.storage.writeBatch(batch)
      },
    })
    const service = bench.persistence({ maxBatchSize: 10 }, { storage })
    await service.start()
    await bench.put(ticksOf(range(0, 20)))
    await metric(service, 'batchesWritten', 1)
    assert.deepEqual(await bench.ranges(), [[10, 19]])
    assert.deepEqual(await bench.announced(), [])
    gate.resolve()
    await metric(service, 'notificationsSent', 2)
    assert.deepEqual(
      (await bench.announced()).map(({ tickStart }) => tickStart),
      [0, 10],
    )
  })

  it('is written when its time is up, however small', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ batchTimeout: '50ms' })
    await service.start()
    await bench.put(ticksOf([0, 10, 20]))
    await metric(service, 'ticksWritten', 3)
    assert.deepEqual(await bench.ticks(), [0, 10, 20])
  })

  it('is written by a stop, even if it is not full, with everything in the queue', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 10 })
    await bench.put(ticksOf(range(0, 3)))
    await service.start()
    await until(() => bench.queue.metrics.items === 0, { what: 'the ticks to be taken' })
    assert.deepEqual(await bench.ticks(), [], 'they wait for more')
    service.pause()
    await bench.put(ticksOf(range(3, 30)))
    await service.stop()
    assert.equal(service.state, 'STOPPED')
    assert.deepEqual(await bench.ticks(), range(0, 33))
    assert.equal((await bench.announced()).length, 4)
  })

  it('is the last one if the queue is closed, and the service ends', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence()
    await service.start()
    await bench.put(ticksOf(range(0, 5)))
    bench.queue.close()
    await service.ended()
    assert.equal(service.state, 'STOPPED')
    assert.deepEqual(await bench.ticks(), range(0, 5))
  })

  it('is announced after it is stored, with its contents', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 4 })
    await service.start()
    await bench.put(ticksOf(range(100, 4, 10)))
    await metric(service, 'notificationsSent', 1)
    const [info] = await bench.announced()
    assert.ok(info)
    const { writtenAt, ...rest } = info
    assert.ok(Math.abs(Date.now() - writtenAt) < 60_000)
    const storageKey = `${RUN_ID}/raw/000/000/batch_0000000000000000100_0000000000000000130.pb.zst`
    assert.deepEqual(rest, { runId: RUN_ID, storageKey, tickStart: 100, tickEnd: 130, tickCount: 4 })
    assert.equal((await bench.storage.readBatch(storageKey)).length, 4)
  })

  it('has its ticks in order, whatever order they arrived in', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 4 })
    await service.start()
    await bench.put(ticksOf([3, 1, 2, 0]))
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), [0, 1, 2, 3])
  })
})

describe('a batch that mixes runs', () => {
  it('goes to the dead letters as a whole, with the reason; the next one is stored', async () => {
    await using bench = await Workbench.open()
    const other = makeRunId()
    const service = bench.persistence({ maxBatchSize: 4 })
    await service.start()
    await bench.put([...ticksOf([0, 1]), ...ticksOf([0, 1], { runId: other }), ...ticksOf(range(2, 4))])
    await metric(service, 'notificationsSent', 1)
    assert.deepEqual(await bench.ticks(), range(2, 4))
    assert.deepEqual(await bench.ticks(other), [])
    const letters = await bench.deadLetters.list()
    const heads = letters.map(({ originalMessage }) => tickHeadOf(originalMessage))
    assert.deepEqual(
      heads.map(({ runId, tick }) => `${runId === other ? 'other' : 'run'} ${tick}`),
      ['run 0', 'run 1', 'other 0', 'other 1'],
    )
    for (const letter of letters) {
      assert.match(letter.failureReason, /MixedRunsError: A batch of 4 ticks contains several runs/)
      assert.equal(letter.retryCount, 0, 'trying again would change nothing')
      assert.equal(letter.messageType, 'tidemark.pipeline.v1.TickData')
      assert.equal(letter.sourceService, 'persistence')
    }
    const { mixedBatches, deadLetters } = service.status().metrics
    assert.deepEqual({ mixedBatches, deadLetters }, { mixedBatches: 1, deadLetters: 4 })
  })
})

describe('instances that compete for one queue', () => {
  it('share its ticks: nothing twice, nothing lost, no ranges that overlap', async () => {
    await using bench = await Workbench.open()
    const services = ['a', 'b', 'c'].map(name => bench.persistence({ maxBatchSize: 7 }, {}, name))
    for (const service of services) await service.start()
    await bench.put(ticksOf(range(0, 1_000)))
    const total = (name: string): number =>
      services.reduce((sum, service) => sum + (service.status().metrics[name] ?? 0), 0)
    await until(() => total('ticksWritten') >= 990, { what: 'nearly all ticks' })
    await Promise.all(services.map(service => service.stop()))
    assert.deepEqual(await bench.ticks(), range(0, 1_000))
    const ranges = await bench.ranges()
    for (const [slot, [start]] of ranges.entries()) assert.ok(slot === 0 || start > (ranges[slot - 1]?.[1] ?? 0))
    assert.equal((await bench.announced()).length, ranges.length)
    for (const service of services) assert.ok((service.status().metrics.batchesWritten ?? 0) > 0, service.name)
  })
})

describe('memory', () => {
  it('is bounded by one batch beside the queue: a faster producer waits', async () => {
    await using bench = await Workbench.open()
    const queue = new BoundedQueue<EncodedTick>({
      maxItems: 1_000,
      maxBytes: 200_000,
      sizeOf: tick => tick.bytes.length,
    })
    const service = bench.persistence({ maxBatchBytes: 100_000 }, { queue })
    await service.start()
    for (const tick of ticksOf(range(0, 100), { genomeBytes: 20_000 })) await queue.put(tick)
    queue.close()
    await service.ended()
    assert.deepEqual(await bench.ticks(), range(0, 100))
    assert.ok(queue.metrics.peakBytes <= 200_000)
    for (const [start, end] of await bench.ranges()) assert.ok(end - start < 5, `${start} to ${end} has over 100 kB`)
  })
})

describe('options', () => {
  const wrong = [
    { maxBatchSize: 0 },
    { maxBatchBytes: -1 },
    { batchTimeout: 'soon' },
    { retry: { maxRetries: -1 } },
    { notifyRetry: { initialBackoff: 'x' } },
    { maxBatchSiez: 5 },
  ]
  for (const options of wrong) {
    it(`refuses ${JSON.stringify(options)}`, async () => {
      await using bench = await Workbench.open()
      assert.throws(() => bench.persistence(options as object), ConfigError)
    })
  }
})

describe('metrics', () => {
  it('show totals, in constant time', async () => {
    await using bench = await Workbench.open()
    const service = bench.persistence({ maxBatchSize: 10 })
    await service.start()
    await bench.put(ticksOf(range(0, 30)))
    await metric(service, 'notificationsSent', 3)
    const { writeMsP50 = 0, writeMsP95 = 0, writeMsP99 = 0, bytesWritten = 0, ...rest } = service.status().metrics
    assert.ok(writeMsP50 > 0 && writeMsP50 <= writeMsP95 && writeMsP95 <= writeMsP99)
    assert.ok(bytesWritten > 0)
    assert.deepEqual(rest, {
      batchesWritten: 3,
      ticksWritten: 30,
      duplicateTicks: 0,
      mixedBatches: 0,
      batchesFailed: 0,
      deadLetters: 0,
      notificationsSent: 3,
      notificationsFailed: 0,
      queueItems: 0,
      queueBytes: 0,
      bytesInHand: 0,
    })
    const started = performance.now()
    for (let time = 0; time < 1_000; time++) service.status()
    assert.ok(performance.now() - started < 2_000, 'a status takes under two milliseconds')
  })
})
