import type { Order } from '../../topics/payloads.ts'
import { type Contender, handleOrder, PAGE } from '../contender.ts'
import { importPeer } from '../installed.ts'

type Message = { json<T>(): T; ack(): void; readonly seq: number }
type Messages = AsyncIterable<Message> & { close(): Promise<unknown> }
type Batch = {
  add(subject: string, payload: string): unknown
  commit(subject: string, payload: string): Promise<unknown>
}
type Connection = { close(): Promise<void>; flush(): Promise<void> }
type JetStream = {
  publish(subject: string, payload: string): Promise<unknown>
  startBatch(subject: string, payload: string): Promise<Batch>
  readonly consumers: { get(stream: string, name: string): Promise<{ consume(options: object): Promise<Messages> }> }
}
type Manager = {
  readonly streams: { add(config: object): Promise<unknown> }
  readonly consumers: { add(stream: string, config: object): Promise<unknown> }
  getAccountInfo(): Promise<{ storage: number }>
}
type Module = {
  jetstream(connection: Connection): JetStream
  jetstreamManager(connection: Connection): Promise<Manager>
}
/** 'all': everything up to a message; 'explicit': each by itself, so that each can be redelivered by itself. */
type Acks = 'all' | 'explicit'
type Transport = { connect(options: { servers: string[] }): Promise<Connection> }

/**
 * A stream on files a topic, a durable pull consumer a group. Batches are atomic ones, which sync once. The consumers
 * acknowledge everything up to a message (AckPolicy all), once a page: its cheapest way.
 */
export async function openJetStream(
  url: string,
  replicas = 1,
): Promise<Contender & { addGroup(topic: string, name: string, acks: Acks): Promise<void> }> {
  const { module, version } = await importPeer<Module>('@nats-io/jetstream')
  const { module: transport } = await importPeer<Transport>('@nats-io/transport-node')
  const connection = await transport.connect({ servers: url.slice('nats://'.length).split(',') })
  const stream = module.jetstream(connection)
  const manager = await module.jetstreamManager(connection)
  const groups = new Map<string, readonly string[]>()
  let explicit = false

  const addConsumer = (topic: string, name: string, acks: Acks): Promise<unknown> =>
    manager.consumers.add(topic, { durable_name: name, ack_policy: acks, max_ack_pending: -1 })

  const consume = async (topic: string, group: string): Promise<Messages> =>
    await (await stream.consumers.get(topic, group)).consume({ max_messages: PAGE })

  const drainGroup = async (topic: string, group: string, messages: number): Promise<number> => {
    const incoming = await consume(topic, group)
    let done = 0
    for await (const message of incoming) {
      handleOrder(message.json<Order>())
      done++
      if (explicit || done % PAGE === 0 || done === messages) message.ack()
      if (done === messages) break
    }
    await connection.flush()
    const ended = performance.now()
    await incoming.close()
    return ended
  }

  return {
    version: `(client ${version})`,
    async storage() {
      return { written: null, stored: (await manager.getAccountInfo()).storage, dead: null }
    },
    async prepare(topic, names) {
      groups.set(topic, names)
      const config = { name: topic, subjects: [topic], storage: 'file', allow_atomic: true, num_replicas: replicas }
      await manager.streams.add(config)
      for (const name of names) await addConsumer(topic, name, 'all')
    },
    /** Replaces the topic's groups by a new one. */
    async addGroup(topic, name, acks) {
      groups.set(topic, [name])
      explicit = acks === 'explicit'
      await addConsumer(topic, name, acks)
    },
    async publishBatch(topic, payloads) {
      const texts = payloads.map(each => JSON.stringify(each))
      const last = texts.pop() ?? ''
      const [first, ...rest] = texts
      if (first === undefined) return void (await stream.publish(topic, last))
      const batch = await stream.startBatch(topic, first)
      for (const text of rest) batch.add(topic, text)
      await batch.commit(topic, last)
    },
    async publish(topic, payload) {
      await stream.publish(topic, JSON.stringify(payload))
    },
    async drain(topic, messages) {
      return Math.max(
        ...(await Promise.all((groups.get(topic) ?? []).map(group => drainGroup(topic, group, messages)))),
      )
    },
    async listen(topic, handle) {
      const incoming = await consume(topic, groups.get(topic)?.[0] ?? '')
      const loop = (async () => {
        for await (const message of incoming) {
          handle(message.json<Order>())
          message.ack()
        }
      })()
      return {
        async [Symbol.asyncDispose]() {
          await incoming.close()
          await loop
        },
      }
    },
    [Symbol.asyncDispose]: async () => await connection.close(),
  }
}
