import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder } from '../contender.ts'
import { importPeer } from '../installed.ts'
import { openPostgresBooks } from '../storage/postgres.ts'
import { openRedisBooks } from '../storage/redis.ts'

type Job = { readonly data: Order }
type Queue = {
  addBulk(jobs: readonly { name: string; data: Order; opts: object }[]): Promise<unknown>
  add(name: string, data: Order, options: object): Promise<unknown>
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}
type Worker = {
  on(event: 'completed', listener: () => void): void
  on(event: 'failed', listener: (job: unknown, error: Error) => void): void
  on(event: 'error', listener: (error: Error) => void): void
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}
type Classes = {
  Queue: new (name: string, options: { connection: unknown }) => Queue
  Worker: new (
    name: string,
    processor: (job: Job) => Promise<void>,
    options: { connection: unknown; concurrency: number },
  ) => Worker
}
type BullMq = Classes & { withBackend(factory: unknown): Classes; createPostgresBackend: unknown }
type Books = AsyncDisposable & Pick<Contender, 'storage' | 'gatherStatistics'>

/** Jobs of one worker that run at once: more than this did not make it faster. */
const CONCURRENCY = 100
/** Of all queues and workers together. Each worker keeps one to listen on, so 64 groups need more than that. */
const CONNECTIONS = 100
const OPTIONS = { removeOnComplete: true }

export async function openBullMqOnRedis(port: string): Promise<Contender> {
  const { module, version } = await importPeer<BullMq>('bullmq')
  return openBullMq(module, version, { host: '127.0.0.1', port: Number(port) }, await openRedisBooks(port))
}

export async function openBullMqOnPostgres(url: string): Promise<Contender> {
  const { module, version } = await importPeer<BullMq>('bullmq')
  const { module: pg } = await importPeer<{ default: { Pool: new (options: object) => { end(): Promise<void> } } }>(
    'pg',
  )
  const classes = module.withBackend(module.createPostgresBackend)
  const first = new classes.Queue('first', { connection: { connectionString: url, migrate: true } })
  await first.waitUntilReady()
  await first.close()
  const pool = new pg.default.Pool({ connectionString: url, max: CONNECTIONS, options: '-c search_path=bullmq' })
  const books = await openPostgresBooks(url)
  return openBullMq(classes, version, pool, {
    storage: books.storage,
    gatherStatistics: books.gatherStatistics,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await books[Symbol.asyncDispose]()
    },
  })
}

/** A queue a group, since a job is one consumer's. */
function openBullMq(classes: Classes, version: string, connection: unknown, books: Books): Contender {
  const queues = new Map<string, { name: string; queue: Queue }[]>()
  const queuesOf = (topic: string): { name: string; queue: Queue }[] => queues.get(topic) ?? []

  const startWorker = async (name: string, handle: (payload: Order) => void): Promise<Worker> => {
    const worker = new classes.Worker(name, async ({ data }) => handle(data), { connection, concurrency: CONCURRENCY })
    worker.on('error', error => console.error(error))
    await worker.waitUntilReady()
    return worker
  }

  const drainQueue = async (name: string, messages: number): Promise<number> => {
    const all = Promise.withResolvers<void>()
    const worker = await startWorker(name, handleOrder)
    let done = 0
    worker.on('completed', () => {
      if (++done === messages) all.resolve()
    })
    worker.on('failed', (_, error) => all.reject(error))
    await all.promise
    const ended = performance.now()
    await worker.close()
    return ended
  }

  return {
    version,
    storage: books.storage,
    ...(books.gatherStatistics && { gatherStatistics: books.gatherStatistics }),
    async prepare(topic, groups) {
      const made = groups
        .map(group => `${topic}-${group}`)
        .map(name => ({ name, queue: new classes.Queue(name, { connection }) }))
      for (const { queue } of made) await queue.waitUntilReady()
      queues.set(topic, made)
    },
    async publishBatch(topic, payloads) {
      const jobs = payloads.map(data => ({ name: 'order', data, opts: OPTIONS }))
      await Promise.all(queuesOf(topic).map(({ queue }) => queue.addBulk(jobs)))
    },
    async publish(topic, payload) {
      await Promise.all(queuesOf(topic).map(({ queue }) => queue.add('order', payload, OPTIONS)))
    },
    async drain(topic, messages) {
      return Math.max(...(await Promise.all(queuesOf(topic).map(({ name }) => drainQueue(name, messages)))))
    },
    async listen(topic, handle) {
      const worker = await startWorker(queuesOf(topic)[0]?.name ?? '', handle)
      return { [Symbol.asyncDispose]: async () => await worker.close() }
    },
    async [Symbol.asyncDispose]() {
      for (const { queue } of [...queues.values()].flat()) await queue.close()
      await books[Symbol.asyncDispose]()
    },
  }
}
