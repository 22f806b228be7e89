import type { Order } from '../../topics/payloads.ts'
import type { Contender } from '../contender.ts'
import { importPeer } from '../installed.ts'

type Connection = { readonly host: string; readonly port: number }
type Job = { readonly data: Order }
type Queue = {
  addBulk(jobs: readonly { name: string; data: Order; opts: object }[]): Promise<unknown>
  add(name: string, data: Order, options: object): Promise<unknown>
  close(): Promise<void>
}
type Worker = {
  on(event: 'completed', listener: () => void): void
  on(event: 'failed', listener: (job: unknown, error: Error) => void): void
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}
type BullMq = {
  Queue: new (name: string, options: { connection: Connection }) => Queue
  Worker: new (
    name: string,
    processor: (job: Job) => Promise<void>,
    options: { connection: Connection; concurrency: number },
  ) => Worker
}

/** Jobs of one worker that run at once: more than this did not make it faster. */
const CONCURRENCY = 100
const OPTIONS = { removeOnComplete: true }

/** A queue a group, since a job is one consumer's. */
export async function openBullMq(port: number): Promise<Contender> {
  const { module, version } = await importPeer<BullMq>('bullmq')
  const connection = { host: '127.0.0.1', port }
  const queues = new Map<string, { name: string; queue: Queue }[]>()
  const queuesOf = (topic: string) => queues.get(topic) ?? []

  const startWorker = async (name: string, handle: (payload: Order) => void): Promise<Worker> => {
    const worker = new module.Worker(name, async ({ data }) => handle(data), { connection, concurrency: CONCURRENCY })
    await worker.waitUntilReady()
    return worker
  }

  const drainQueue = async (name: string, messages: number): Promise<void> => {
    const all = Promise.withResolvers<void>()
    const worker = await startWorker(name, ({ orderId }) => {
      if (!(orderId > 0)) throw new Error('A job came without its order')
    })
    let done = 0
    worker.on('completed', () => {
      if (++done === messages) all.resolve()
    })
    worker.on('failed', (_, error) => all.reject(error))
    await all.promise
    await worker.close()
  }

  return {
    name: 'BullMQ',
    version,
    async prepare(topic, groups) {
      const names = groups.map(group => `${topic}-${group}`)
      queues.set(
        topic,
        names.map(name => ({ name, queue: new module.Queue(name, { connection }) })),
      )
    },
    async publishBatch(topic, payloads) {
      const jobs = payloads.map(data => ({ name: 'order', data, opts: OPTIONS }))
      await Promise.all(queuesOf(topic).map(({ queue }) => queue.addBulk(jobs)))
    },
    async publish(topic, payload) {
      await Promise.all(queuesOf(topic).map(({ queue }) => queue.add('order', payload, OPTIONS)))
    },
    async drain(topic, messages) {
      await Promise.all(queuesOf(topic).map(({ name }) => drainQueue(name, messages)))
    },
    async listen(topic, handle) {
      const worker = await startWorker(queuesOf(topic)[0]?.name ?? '', handle)
      return { [Symbol.asyncDispose]: async () => await worker.close() }
    },
    async [Symbol.asyncDispose]() {
      for (const { queue } of [...queues.values()].flat()) await queue.close()
    },
  }
}
