import { type ConsumerGroup, open } from 'tidemark'
import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder, PAGE } from '../contender.ts'
import { openPostgresBooks } from '../storage/postgres.ts'
import { sqliteStorage } from '../storage/sqlite.ts'

/** Topics that nobody has subscribed to yet would be warned of. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export async function openTidemarkOnSqlite(path: string): Promise<Contender> {
  return await openTidemark(`sqlite:${path}`, { storage: async () => sqliteStorage(path) })
}

export async function openTidemarkOnPostgres(url: string): Promise<Contender> {
  const books = await openPostgresBooks(url)
  const { storage, gatherStatistics } = books
  const contender = await openTidemark(url, { storage, gatherStatistics })
  return {
    ...contender,
    async [Symbol.asyncDispose]() {
      await contender[Symbol.asyncDispose]()
      await books[Symbol.asyncDispose]()
    },
  }
}

async function openTidemark(url: string, books: Pick<Contender, 'storage' | 'gatherStatistics'>): Promise<Contender> {
  const tidemark = await open(url, { logger: SILENT })
  const groups = new Map<string, readonly ConsumerGroup<Order>[]>()
  return {
    ...books,
    version: '',
    async prepare(topic, names) {
      await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
      const made = names.map(name =>
        tidemark
          .consumerGroup<Order>(topic, name, { batchSize: PAGE })
          .addConsumer('consumer', ({ payload }) => handleOrder(payload)),
      )
      groups.set(topic, made)
      // They subscribe now, as the others create their queues: publishing and draining find them there.
      await Promise.all(made.map(group => group.start({ from: 'beginning' })))
      await Promise.all(made.map(group => group.stop()))
    },
    async publishBatch(topic, payloads) {
      await tidemark.publishBatch(topic, payloads)
    },
    async publish(topic, payload) {
      await tidemark.publish(topic, payload)
    },
    async drain(topic, messages) {
      const all = Promise.withResolvers<void>()
      const own = groups.get(topic) ?? []
      let left = messages * own.length
      const stopCounting = tidemark.on('acked', event => {
        if (event.topic === topic) left -= event.count
        if (left <= 0) all.resolve()
      })
      const stopWatching = tidemark.on('error', ({ error }) => all.reject(error))
      await Promise.all(own.map(group => group.start()))
      await all.promise
      const ended = performance.now()
      await Promise.all(own.map(group => group.stop()))
      stopCounting()
      stopWatching()
      return ended
    },
    async listen(topic, handle) {
      const group = tidemark.consumerGroup<Order>(topic, 'listener', { batchSize: PAGE })
      await group.addConsumer('consumer', ({ payload }) => handle(payload)).start({ from: 'now' })
      return group
    },
    [Symbol.asyncDispose]: async () => await tidemark.close(),
  }
}
