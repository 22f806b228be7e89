import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { ClosedError } from 'tidemark'
import { until } from '../../../../testing/until.ts'
import {
  decodeTick,
  type EncodedTick,
  QueueBrokenError,
  type QueueLimits,
  WorkerQueueReceiver,
  WorkerQueueSender,
} from '../../src/index.ts'
import { range, ticksOf } from '../storage/ticks.ts'

const LONG = { timeout: 60_000 }
const GENEROUS = { maxItems: 100, maxBytes: 100_000_000 }

type Produced = { put?: number; left?: number; error?: string; pong?: number }
type Production = AsyncDisposable & { receiver: WorkerQueueReceiver<EncodedTick>; messages: Produced[]; worker: Worker }

/** A real thread that puts ticks with genomes of these sizes. */
function produce(sizes: readonly number[], limits: QueueLimits, end: 'close' | 'exit' | 'stay' = 'close'): Production {
  const { port1, port2 } = new MessageChannel()
  const worker = new Worker(new URL('scripts/producer.ts', import.meta.url), {
    workerData: { port: port1, sizes, end },
    transferList: [port1],
    execArgv: ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning'],
  })
  const messages: Produced[] = []
  worker.on('message', message => message.pong === undefined && messages.push(message))
  const receiver = new WorkerQueueReceiver<EncodedTick>(port2, limits)
  return {
    receiver,
    messages,
    worker,
    async [Symbol.asyncDispose]() {
      receiver.close()
      await worker.terminate()
    },
  }
}

describe('a queue between threads', () => {
  it('delivers every tick, in order and complete, and ends', async () => {
    const sizes = range(0, 200).map(tick => (tick * 37) % 5_000)
    await using production = produce(sizes, { maxItems: 7, maxBytes: 20_000 })
    const ticks: EncodedTick[] = []
    while (!production.receiver.isEnded) ticks.push(...(await production.receiver.drain(10, LONG)))
    assert.deepEqual(
      ticks.map(({ bytes }) => decodeTick(bytes).organisms[0]?.genome.length),
      sizes,
    )
    assert.deepEqual(
      ticks.map(tick => tick.tick),
      range(0, 200),
    )
    const { peakItems, peakBytes } = production.receiver.metrics
    assert.ok(peakItems <= 7 && peakBytes <= 20_000)
  })

  it('moves the bytes: they are gone at the sender', async () => {
    await using production = produce([1_000_000], GENEROUS)
    const [tick] = await production.receiver.drain(1, LONG)
    assert.ok((tick?.bytes.length ?? 0) > 1_000_000)
    await until(() => production.messages.length > 0, { what: "the sender's word" })
    assert.deepEqual(production.messages, [{ put: 0, left: 0 }])
  })

  it('stops the sender at the number of items, across the port', async () => {
    await using production = produce(Array(50).fill(10), { maxItems: 3, maxBytes: 1_000_000 })
    await isHeldAt(production, 3)
    assert.equal((await production.receiver.drain(2, LONG)).length, 2)
    await isHeldAt(production, 5)
  })

  it('stops the sender at the number of bytes, across the port', async () => {
    await using production = produce(Array(50).fill(10_000), { maxItems: 100, maxBytes: 45_000 })
    await isHeldAt(production, 4)
    assert.equal((await production.receiver.drain(1, LONG)).length, 1)
    await isHeldAt(production, 5)
  })

  it('sends an item that is larger than the queue alone, and continues', async () => {
    const { port1, port2 } = new MessageChannel()
    const sender = new WorkerQueueSender<EncodedTick>(port1)
    const receiver = new WorkerQueueReceiver<EncodedTick>(port2, { maxItems: 9, maxBytes: 5_000 })
    const [small, large, last] = [10, 6_000, 20].flatMap(genomeBytes => ticksOf([1], { genomeBytes }))
    const sizes = [small, large, last].map(tick => tick?.bytes.byteLength)
    const puts = [small, large, last].map(tick => sender.put(tick as EncodedTick))
    for (const size of sizes) {
      const [taken] = await receiver.drain(1, LONG)
      assert.equal(taken?.bytes.byteLength, size)
      assert.equal(receiver.metrics.items, 0, 'nothing beside it')
    }
    await Promise.all(puts)
    sender.close()
  })

  it('copies bytes that share their buffer, and takes nothing from the others there', async () => {
    const { port1, port2 } = new MessageChannel()
    const sender = new WorkerQueueSender<{ bytes: Uint8Array }>(port1)
    const receiver = new WorkerQueueReceiver<{ bytes: Uint8Array }>(port2, GENEROUS)
    const shared = Uint8Array.of(1, 2, 3, 4)
    await sender.put({ bytes: shared.subarray(1, 3) })
    await sender.put({ bytes: Buffer.from('pooled') })
    sender.close()
    const items = await receiver.drain(9, LONG)
    assert.deepEqual(
      items.map(({ bytes }) => [...bytes]),
      [[2, 3], [...Buffer.from('pooled')]],
    )
    assert.deepEqual([...shared], [1, 2, 3, 4])
  })

  it('lets a waiting put be aborted, and the next one in', async () => {
    const { port1, port2 } = new MessageChannel()
    const sender = new WorkerQueueSender<{ bytes: Uint8Array }>(port1)
    const receiver = new WorkerQueueReceiver<{ bytes: Uint8Array }>(port2, { maxItems: 9, maxBytes: 10 })
    await sender.put({ bytes: new Uint8Array(6) })
    const controller = new AbortController()
    const aborted = sender.put({ bytes: new Uint8Array(8) }, { signal: controller.signal })
    const next = sender.put({ bytes: new Uint8Array(4) })
    assert.equal(sender.waitingPuts, 2)
    controller.abort(new Error('enough'))
    await assert.rejects(aborted, /enough/)
    await next
    const waiting = sender.put({ bytes: new Uint8Array(4) })
    sender.close()
    await assert.rejects(waiting, ClosedError)
    await assert.rejects(sender.put({ bytes: new Uint8Array(1) }), ClosedError)
    const items = await receiver.drain(9, LONG)
    assert.deepEqual(
      items.map(({ bytes }) => bytes.length),
      [6, 4],
    )
  })
})

describe('a thread that ends', () => {
  it('without closing is an error, after its items were returned', async () => {
    await using production = produce([10, 10, 10], GENEROUS, 'exit')
    const ticks = await production.receiver.drain(9, LONG)
    assert.equal(ticks.length, 3)
    await assert.rejects(production.receiver.drain(9, LONG), QueueBrokenError)
  })

  it('because it was ended is an error, not a wait without end', async () => {
    await using production = produce([10], GENEROUS, 'stay')
    assert.equal((await production.receiver.drain(1, LONG)).length, 1)
    const broken = assert.rejects(production.receiver.drain(1, LONG), QueueBrokenError)
    await production.worker.terminate()
    await broken
  })

  it('at the receiving end stops the sender', async () => {
    await using production = produce(Array(50).fill(10), { maxItems: 2, maxBytes: 1_000_000 })
    await isHeldAt(production, 2)
    production.receiver.close()
    await until(() => production.messages.some(message => message.error !== undefined), { what: 'the put to reject' })
    assert.equal(production.messages.at(-1)?.error, 'QueueBrokenError')
    assert.equal((await production.receiver.drain(9, LONG)).length, 2, 'what had arrived is still there')
  })
})

/** The sender has put that many, and everything it could do since then it has done. */
async function isHeldAt({ messages, receiver, worker }: Production, count: number): Promise<void> {
  await until(() => messages.length >= count && receiver.metrics.totalPut >= count, { what: `${count} puts` })
  // Round trips through the worker's event loop: had it had credit, the next put's message would come before.
  for (let ping = 0; ping < 3; ping++) await roundTrip(worker, ping)
  assert.equal(messages.length, count)
  assert.equal(receiver.metrics.totalPut, count)
}

async function roundTrip(worker: Worker, ping: number): Promise<void> {
  let isBack = false
  const listen = ({ pong }: Produced): void => {
    isBack ||= pong === ping
  }
  worker.on('message', listen)
  worker.postMessage(ping)
  await until(() => isBack, { what: 'an answer of the worker' })
  worker.off('message', listen)
}
