import { EventEmitter } from 'node:events'
import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder } from '../contender.ts'
import { importPeer } from '../installed.ts'
import { openPostgresBooks } from '../storage/postgres.ts'

type Runner = { stop(): Promise<void> }
type Utils = {
  addJob(identifier: string, payload: Order): Promise<unknown>
  addJobs(jobs: readonly { identifier: string; payload: Order }[]): Promise<unknown>
  migrate(): Promise<void>
  release(): Promise<void>
}
type Task = (payload: unknown) => void
type Module = {
  makeWorkerUtils(options: object): Promise<Utils>
  run(options: object): Promise<Runner>
  Logger: new (factory: () => () => void) => object
}

const CONNECTIONS = 10

/** The settings of its documentation's chapter on performance: jobs fetched and completed in batches. */
const FASTEST = {
  concurrentJobs: 24,
  maxPoolSize: CONNECTIONS,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

/** A task a group, since a job is one consumer's. */
export async function openGraphileWorker(url: string): Promise<Contender> {
  const books = await openPostgresBooks(url)
  const { module, version } = await importPeer<Module>('graphile-worker')
  const logger = new module.Logger(() => () => undefined)
  const utils = await module.makeWorkerUtils({ connectionString: url, maxPoolSize: CONNECTIONS, logger })
  await utils.migrate()
  const tasks = new Map<string, string[]>()
  const tasksOf = (topic: string): string[] => tasks.get(topic) ?? []

  const start = async (taskList: { [name: string]: Task }, events: EventEmitter): Promise<Runner> =>
    await module.run({
      taskList,
      events,
      noHandleSignals: true,
      preset: { worker: { connectionString: url, logger, ...FASTEST } },
    })

  return {
    version,
    storage: books.storage,
    gatherStatistics: books.gatherStatistics,
    async prepare(topic, groups) {
      tasks.set(
        topic,
        groups.map(group => `${topic}-${group}`),
      )
    },
    async publishBatch(topic, payloads) {
      await Promise.all(
        tasksOf(topic).map(identifier => utils.addJobs(payloads.map(payload => ({ identifier, payload })))),
      )
    },
    async publish(topic, payload) {
      await Promise.all(tasksOf(topic).map(identifier => utils.addJob(identifier, payload)))
    },
    async drain(topic, messages) {
      const all = Promise.withResolvers<void>()
      const events = new EventEmitter()
      const wanted = messages * tasksOf(topic).length
      let done = 0
      events.on('job:complete', ({ error }) => {
        if (error) all.reject(error)
        if (++done === wanted) all.resolve()
      })
      const handlers = tasksOf(topic).map(task => [task, (payload: unknown) => handleOrder(payload as Order)])
      const runner = await start(Object.fromEntries(handlers), events)
      await all.promise
      // Stopped, it has stored that the last ones are complete.
      await runner.stop()
      return performance.now()
    },
    async listen(topic, handle) {
      const [task = ''] = tasksOf(topic)
      const runner = await start({ [task]: payload => handle(payload as Order) }, new EventEmitter())
      return { [Symbol.asyncDispose]: async () => await runner.stop() }
    },
    async [Symbol.asyncDispose]() {
      await utils.release()
      await books[Symbol.asyncDispose]()
    },
  }
}
