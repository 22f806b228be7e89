/** A map of topics types every verb. A wrong topic or payload does not compile. */
import {
  type ConsumerGroup,
  type Delivery,
  open,
  type PublishedRef,
  type Pulled,
  type Reader,
  type Received,
  type StoredPayload,
  type Tidemark,
  type Topic,
  type Writer,
} from 'tidemark'
import { expectType } from './expect-type.ts'

type Order = { orderId: number; note?: string }
// biome-ignore lint/style/useConsistentTypeDefinitions: an interface has to work, too
interface AppTopics {
  orders: Order
  'payments.done': { amount: number; at: Date }
  files: Uint8Array
}

export async function withMap(): Promise<void> {
  const tm = await open<AppTopics>('sqlite::memory:')
  expectType<Promise<PublishedRef>>()(tm.publish('orders', { orderId: 7 }))
  await tm.publish('payments.done', { amount: 1, at: new Date() }, { key: 'customer-3' })
  await tm.publishBatch('orders', [{ orderId: 7 }, { orderId: 8, note: 'x' }])
  await tm.publishMessages('orders', [{ payload: { orderId: 7 }, key: 'k', messageId: 'm' }])
  await tm.publish('files', Uint8Array.of(1))
  await tm.configureTopic('orders', { semantics: 'pub-sub' })

  // @ts-expect-error: no such topic
  await tm.publish('ordrs', { orderId: 7 })
  // @ts-expect-error: a text is no number
  await tm.publish('orders', { orderId: '7' })
  // @ts-expect-error: the payload of another topic
  await tm.publish('payments.done', { orderId: 7 })
  // @ts-expect-error: one of several
  await tm.publishBatch('orders', [{ orderId: 7 }, { orderId: '8' }])
  // @ts-expect-error: one of several
  await tm.publishMessages('orders', [{ payload: { orderId: '7' } }])
  // @ts-expect-error: no such topic
  await tm.configureTopic('ordrs')
  // @ts-expect-error: no such topic
  tm.consumerGroup('ordrs', 'email')
  // @ts-expect-error: no such topic
  tm.reader('ordrs')
  // @ts-expect-error: no such topic
  tm.writer('ordrs')
  // @ts-expect-error: no such topic
  tm.topic('ordrs')
  // @ts-expect-error: no such topic
  await tm.pull('ordrs')
  // @ts-expect-error: no such topic
  await tm.admin.browse('ordrs')
  // @ts-expect-error: no such topic
  await tm.admin.deadLetters('ordrs')
  // @ts-expect-error: no such topic
  await tm.admin.pauseGroup('ordrs', 'email')

  const group = tm.consumerGroup('orders', 'email', { filter: ({ payload }) => payload.orderId > 3 })
  expectType<ConsumerGroup<Order>>()(group)
  group.addConsumer('email-1', async ({ payload }, { signal, extend }) => {
    expectType<Order>()(payload)
    if (!signal.aborted) await extend('1m')
  })
  // @ts-expect-error: no such property
  group.addConsumer('email-2', ({ payload }) => payload.amount)

  expectType<Reader<Order>>()(tm.reader('orders', { group: 'billing' }))
  expectType<Delivery<Order> | null>()(await tm.reader('orders').poll('5s'))
  expectType<Writer<Order>>()(tm.writer('orders'))
  expectType<Topic<Order, Order>>()(tm.topic('orders'))
  expectType<Pulled<Order>>()(await tm.pull('orders', 'email', { max: 10 }))
  expectType<Pulled<StoredPayload>>()(await tm.pull('orders', 'email', { raw: true }))
  expectType<Pulled<Order>>()(await tm.topic('orders').pull('email'))
  const browsed = await tm.admin.browse('orders')
  expectType<StoredPayload | undefined>()(browsed.messages.at(0)?.payload)

  // JSON has no dates: what arrives is a text, and the type says so.
  const payments = tm.reader('payments.done')
  expectType<{ amount: number; at: string }>()((await payments.receive()).payload)
  expectType<Uint8Array>()((await tm.reader('files').receive()).payload)
}

export async function withoutMap(): Promise<void> {
  const tm = await open('sqlite::memory:')
  expectType<Tidemark>()(tm)
  await tm.publish('any.topic', { any: 'payload' })
  await tm.publish('any.topic', 7)
  await tm.publishBatch('any.topic', [1, 'two'])
  expectType<ConsumerGroup<unknown>>()(tm.consumerGroup('any.topic', 'g'))
  expectType<Reader<unknown>>()(tm.reader('any.topic'))
  expectType<Writer<unknown>>()(tm.writer('any.topic'))
  expectType<Topic<unknown, unknown>>()(tm.topic('any.topic'))
  expectType<Pulled<unknown>>()(await tm.pull('any.topic'))

  // A type that is given with the call.
  expectType<ConsumerGroup<Order>>()(tm.consumerGroup<Order>('orders', 'email', { batchSize: 100 }))
  expectType<ConsumerGroup<string>>()(tm.consumerGroup<string>('texts'))
  expectType<Reader<Order>>()(tm.reader<Order>('orders'))
  expectType<Writer<string>>()(tm.writer<string>('texts'))
  expectType<Pulled<Order>>()(await tm.pull<Order>('orders'))
  const orders = tm.topic<Order>('orders')
  expectType<Topic<Order, Order>>()(orders)
  await orders.publish({ orderId: 7 })
  // @ts-expect-error: a text is no number
  await orders.publish({ orderId: '7' })
  // @ts-expect-error: a text is no number
  await orders.publishMessages([{ payload: { orderId: '7' } }])
  // @ts-expect-error: a text is no number
  await orders.writer().send({ orderId: '7' })
  orders.group('audit').addConsumer('a', ({ payload }) => expectType<Order>()(payload))
  const dated = tm.topic<{ at: Date }>('dated')
  await dated.publish({ at: new Date() })
  expectType<{ at: string }>()((await dated.reader().receive()).payload)

  // A type that is expected of the result.
  const expected: ConsumerGroup<Order> = tm.consumerGroup('orders', 'email')
  const typed: Tidemark<AppTopics> = await open('sqlite::memory:')
  void expected
  void typed
}

/** Parts of a program may ask for any Tidemark, or for one that has their topics. */
declare function serve(tm: Tidemark): void
declare function sendMail(tm: Tidemark<{ orders: Order }>): void
declare function other(tm: Tidemark<{ orders: { customer: string } }>): void

export function passedOn(app: Tidemark<AppTopics>, untyped: Tidemark): void {
  serve(app)
  serve(untyped)
  sendMail(app)
  // @ts-expect-error: its orders are others
  other(app)
}

export const received = (
  plain: Received<Order>,
  json: Received<{ at: Date; list: (Date | undefined)[]; run(): void; url: URL; maybe?: Date }>,
  bytes: Received<Uint8Array>,
  nothing: Received<unknown>,
): void => {
  expectType<Order>()(plain)
  expectType<string>()(json.at)
  expectType<(string | null)[]>()(json.list)
  expectType<string>()(json.url)
  expectType<string | undefined>()(json.maybe)
  // @ts-expect-error: JSON has no functions
  json.run
  expectType<Uint8Array>()(bytes)
  expectType<unknown>()(nothing)
}
