import { type Contender, handleOrder, PAGE } from '../contender.ts'
import { connectRedis, openRedisBooks, type Redis } from '../storage/redis.ts'

type Entry = [id: string, fields: [name: string, payload: string]]

/** Streams with consumer groups, without a library on top: what a program would write by hand. It has no retries of its own. */
export async function openRedisStreams(port: string): Promise<Contender> {
  const books = await openRedisBooks(port)
  const { redis: publisher, version } = await connectRedis(port)
  const readers: Redis[] = []
  const groups = new Map<string, readonly string[]>()

  const connect = async (): Promise<Redis> => {
    const { redis: reader } = await connectRedis(port)
    readers.push(reader)
    return reader
  }

  const read = async (reader: Redis, topic: string, group: string): Promise<Entry[]> => {
    const options = ['GROUP', group, 'consumer', 'COUNT', PAGE, 'BLOCK', 1_000, 'STREAMS', topic, '>']
    const streams = (await reader.call('XREADGROUP', ...options)) as [name: string, entries: Entry[]][] | null
    return streams?.[0]?.[1] ?? []
  }

  const acknowledge = async (reader: Redis, topic: string, group: string, entries: readonly Entry[]): Promise<void> => {
    if (entries.length > 0) await reader.call('XACK', topic, group, ...entries.map(([id]) => id))
  }

  const drainGroup = async (topic: string, group: string, messages: number): Promise<void> => {
    const reader = await connect()
    for (let done = 0; done < messages; ) {
      const entries = await read(reader, topic, group)
      for (const [, [, payload]] of entries) handleOrder(JSON.parse(payload))
      await acknowledge(reader, topic, group, entries)
      done += entries.length
    }
    reader.disconnect()
  }

  return {
    version: `(ioredis ${version})`,
    storage: books.storage,
    async prepare(topic, names) {
      groups.set(topic, names)
      for (const group of names) await publisher.call('XGROUP', 'CREATE', topic, group, '$', 'MKSTREAM')
    },
    async publishBatch(topic, payloads) {
      await publisher.pipeline(payloads.map(payload => ['xadd', topic, '*', 'payload', JSON.stringify(payload)])).exec()
    },
    async publish(topic, payload) {
      await publisher.call('XADD', topic, '*', 'payload', JSON.stringify(payload))
    },
    async drain(topic, messages) {
      await Promise.all((groups.get(topic) ?? []).map(group => drainGroup(topic, group, messages)))
      return performance.now()
    },
    async listen(topic, listener) {
      const group = groups.get(topic)?.[0] ?? ''
      const reader = await connect()
      let isStopped = false
      const loop = (async () => {
        while (!isStopped) {
          const entries = await read(reader, topic, group)
          for (const [, [, payload]] of entries) listener(JSON.parse(payload))
          await acknowledge(reader, topic, group, entries)
        }
      })()
      return {
        async [Symbol.asyncDispose]() {
          isStopped = true
          await loop
          reader.disconnect()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      for (const reader of [publisher, ...readers]) reader.disconnect()
      await books[Symbol.asyncDispose]()
    },
  }
}
