import type { Order } from '../../topics/payloads.ts'
import type { Contender } from '../contender.ts'
import { importPeer } from '../installed.ts'

type Redis = {
  pipeline(commands: readonly (readonly (string | number)[])[]): { exec(): Promise<unknown> }
  call(command: string, ...values: (string | number)[]): Promise<unknown>
  disconnect(): void
}
type Entry = [id: string, fields: [name: string, payload: string]]

const PAGE = 1_000

/** Streams with consumer groups, without a library on top: what a program would write by hand. It has no retries of its own. */
export async function openRedisStreams(port: number): Promise<Contender> {
  const { module, version } = await importPeer<{ Redis: new (options: { port: number; protocol: 2 }) => Redis }>(
    'ioredis',
  )
  const open = (): Redis => new module.Redis({ port, protocol: 2 })
  const publisher = open()
  const readers: Redis[] = []
  const groups = new Map<string, readonly string[]>()

  const connect = (): Redis => {
    const reader = open()
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
    const reader = connect()
    for (let done = 0; done < messages; ) {
      const entries = await read(reader, topic, group)
      for (const [, [, payload]] of entries) await handle(JSON.parse(payload))
      await acknowledge(reader, topic, group, entries)
      done += entries.length
    }
    reader.disconnect()
  }

  return {
    name: 'Redis Streams',
    version: `(ioredis ${version})`,
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
    },
    async listen(topic, listener) {
      const group = groups.get(topic)?.[0] ?? ''
      const reader = connect()
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
    },
  }
}

async function handle({ orderId }: Order): Promise<void> {
  if (!(orderId > 0)) throw new Error('An entry came without its order')
}
