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
type Transport = { connect(options: { servers: string }): Promise<Connection> }

/**
 * A stream on files a topic, a durable pull consumer a group. Batches are atomic ones, which sync once. The consumers
 * acknowledge everything up to a message (AckPolicy all), once a page: its cheapest way.
 */
export async function openJetStream(url: string): Promise<Contender> {
  const { module, version } = await importPeer<Module>('@nats-io/jetstream')
  const { module: transport } = await importPeer<Transport>('@nats-io/transport-node')
  const connection = await transport.connect({ servers: url })
  const stream = module.jetstream(connection)
  const manager = await module.jetstreamManager(connection)
  const groups = new Map<string, readonly string[]>()

  const consume = async (topic: string, group: string): Promise<Messages> =>
    await (await stream.consumers.get(topic, group)).consume({ max_messages: PAGE })

  const drainGroup = async (topic: string, group: string, messages: number): Promise<number> => {
    const incoming = await consume(topic, group)
    let done = 0
    for await (const message of incoming) {
      handleOrder(message.json<Order>())
      done++
      if (done % PAGE === 0 || done === messages) message.ack()
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
      await manager.streams.add({ name: topic, subjects: [topic], storage: 'file', allow_atomic: true })
      for (const name of names) {
        await manager.consumers.add(topic, { durable_name: name, ack_policy: 'all', max_ack_pending: -1 })
      }
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
