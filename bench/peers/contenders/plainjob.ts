import { setImmediate as turn } from 'node:timers/promises'
import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder } from '../contender.ts'
import { importPeer } from '../installed.ts'
import { sqliteStorage } from '../storage/sqlite.ts'

type Database = { pragma(text: string): unknown; close(): void }
type Job = { readonly data: string }
type Queue = {
  add(type: string, data: Order): unknown
  addMany(type: string, data: readonly Order[]): unknown
  close(): void
}
type Worker = { start(): Promise<void>; stop(): Promise<void> }
type PlainJob = {
  better(database: Database): object
  defineQueue(options: object): Queue
  defineWorker(type: string, processor: (job: Job) => void, options: object): Worker
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** A type of job a group. It looks for jobs by polling, which may be as often as every millisecond. */
export async function openPlainJob(path: string): Promise<Contender> {
  const { module, version } = await importPeer<PlainJob>('plainjob')
  const { module: better } = await importPeer<{ default: new (path: string) => Database }>('better-sqlite3')
  const database = new better.default(path)
  const queue = module.defineQueue({ connection: module.better(database), logger: SILENT })
  // It sets NORMAL, which may lose the newest jobs with the power: as durable as the others.
  database.pragma('synchronous = FULL')
  const types = new Map<string, string[]>()
  const typesOf = (topic: string): string[] => types.get(topic) ?? []

  const startWorker = (type: string, handle: (payload: Order) => void, onCompleted: () => void): Worker => {
    const processor = ({ data }: Job): void => handle(JSON.parse(data) as Order)
    const worker = module.defineWorker(type, processor, { queue, logger: SILENT, pollIntervall: 1, onCompleted })
    void worker.start()
    return worker
  }

  const drainType = async (type: string, messages: number): Promise<number> => {
    const all = Promise.withResolvers<void>()
    let done = 0
    const worker = startWorker(type, handleOrder, () => {
      if (++done === messages) all.resolve()
    })
    await all.promise
    const ended = performance.now()
    await worker.stop()
    return ended
  }

  return {
    version,
    storage: async () => sqliteStorage(path),
    async prepare(topic, groups) {
      types.set(
        topic,
        groups.map(group => `${topic}-${group}`),
      )
    },
    async publishBatch(topic, payloads) {
      for (const type of typesOf(topic)) queue.addMany(type, payloads)
    },
    async publish(topic, payload) {
      for (const type of typesOf(topic)) queue.add(type, payload)
      // It never waits by itself: without this, whoever publishes would keep its own workers from their turn.
      await turn()
    },
    async drain(topic, messages) {
      return Math.max(...(await Promise.all(typesOf(topic).map(type => drainType(type, messages)))))
    },
    async listen(topic, handle) {
      const worker = startWorker(typesOf(topic)[0] ?? '', handle, () => {})
      return { [Symbol.asyncDispose]: async () => await worker.stop() }
    },
    async [Symbol.asyncDispose]() {
      queue.close()
    },
  }
}
