import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder, PAGE, pause } from '../contender.ts'
import { importPeer } from '../installed.ts'
import { openPostgresBooks } from '../storage/postgres.ts'

type Job = { readonly id: string; readonly data: Order }
type Boss = {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  stop(options: { graceful: boolean }): Promise<void>
  createQueue(name: string, options: { notify: boolean; partition: boolean }): Promise<void>
  insert(name: string, jobs: readonly { data: Order }[]): Promise<unknown>
  send(name: string, data: Order): Promise<unknown>
  fetch(name: string, options: { batchSize: number }): Promise<Job[]>
  complete(name: string, ids: readonly string[]): Promise<unknown>
  work(name: string, options: object, handler: (jobs: Job[]) => Promise<void>): Promise<string>
  offWork(name: string): Promise<void>
}

/**
 * A queue a group, since a job is one consumer's. With what it has for speed: a table for each queue, NOTIFY to wake its
 * workers, and drained with fetch() and complete().
 */
export async function openPgBoss(url: string): Promise<Contender> {
  const books = await openPostgresBooks(url)
  const { module, version } = await importPeer<{ PgBoss: new (options: object) => Boss }>('pg-boss')
  const boss = new module.PgBoss({ connectionString: url, useListenNotify: true })
  boss.on('error', error => console.error(error))
  await boss.start()
  const queues = new Map<string, string[]>()
  const queuesOf = (topic: string): string[] => queues.get(topic) ?? []

  const drainQueue = async (queue: string, messages: number): Promise<void> => {
    for (let done = 0; done < messages; ) {
      const jobs = await boss.fetch(queue, { batchSize: PAGE })
      for (const { data } of jobs) handleOrder(data)
      if (jobs.length > 0)
        await boss.complete(
          queue,
          jobs.map(({ id }) => id),
        )
      else await pause(1)
      done += jobs.length
    }
  }

  return {
    version,
    storage: books.storage,
    gatherStatistics: books.gatherStatistics,
    async prepare(topic, groups) {
      queues.set(
        topic,
        groups.map(group => `${topic}-${group}`),
      )
      for (const queue of queuesOf(topic)) await boss.createQueue(queue, { notify: true, partition: true })
    },
    async publishBatch(topic, payloads) {
      const jobs = payloads.map(data => ({ data }))
      await Promise.all(queuesOf(topic).map(queue => boss.insert(queue, jobs)))
    },
    async publish(topic, payload) {
      await Promise.all(queuesOf(topic).map(queue => boss.send(queue, payload)))
    },
    async drain(topic, messages) {
      await Promise.all(queuesOf(topic).map(queue => drainQueue(queue, messages)))
      return performance.now()
    },
    async listen(topic, listener) {
      const queue = queuesOf(topic)[0] ?? ''
      await boss.work(queue, { batchSize: PAGE }, async jobs => {
        for (const { data } of jobs) listener(data)
      })
      return { [Symbol.asyncDispose]: async () => await boss.offWork(queue) }
    },
    async [Symbol.asyncDispose]() {
      await boss.stop({ graceful: false })
      await books[Symbol.asyncDispose]()
    },
  }
}
