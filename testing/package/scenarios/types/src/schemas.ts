/** The input type of a schema is what is published, and its output type is what is received. */
import { type ConsumerGroup, open, type Pulled, type Reader, type Schema, type Tidemark, type Topic } from 'tidemark'
import * as v from 'valibot'
import { z } from 'zod'
import { expectType } from './expect-type.ts'

const zodEvent = z.object({ at: z.string().transform(text => new Date(text)), note: z.string().default('none') })
const valibotEvent = v.object({
  at: v.pipe(
    v.string(),
    v.transform(text => new Date(text)),
  ),
  note: v.optional(v.string(), 'none'),
})
declare const ownEvent: Schema<{ at: string; note?: string | undefined }, { at: Date; note: string }>

type Input = { at: string; note?: string | undefined }
type Output = { at: Date; note: string }

export async function handles(tm: Tidemark): Promise<void> {
  expectType<Topic<Input, Output>>()(tm.topic('events', { schema: zodEvent }))
  expectType<Topic<Input, Output>>()(tm.topic('events', { schema: valibotEvent }))
  expectType<Topic<Input, Output>>()(tm.topic('events', { schema: ownEvent }))
  const events = tm.topic('events', { schema: zodEvent })
  await events.publish({ at: '2026-05-01' })
  await events.publishMessages([{ payload: { at: '2026-05-01', note: 'x' } }])
  // @ts-expect-error: the output is not what is published
  await events.publish({ at: new Date(), note: 'x' })
  expectType<ConsumerGroup<Output>>()(events.group('g'))
  expectType<Reader<Output>>()(events.reader())
  expectType<Pulled<Output>>()(await events.pull('g'))
  expectType<ConsumerGroup<Output>>()(tm.consumerGroup('events', 'g', { schema: zodEvent }))
  expectType<ConsumerGroup<Output>>()(tm.consumerGroup('events', 'g', { schema: valibotEvent }))
  expectType<Reader<Output>>()(tm.reader('events', { schema: zodEvent }))
  expectType<Pulled<Output>>()(await tm.pull('events', 'g', { schema: zodEvent }))
}

export async function openedWithSchemas(): Promise<void> {
  const schemas = { events: zodEvent, orders: v.object({ orderId: v.number() }) }
  const tm = await open('sqlite::memory:', { schemas })
  expectType<Tidemark<typeof schemas>>()(tm)
  await tm.publish('events', { at: '2026-05-01' })
  await tm.publish('orders', { orderId: 7 })
  // @ts-expect-error: a text is no number
  await tm.publish('orders', { orderId: '7' })
  // @ts-expect-error: no such topic
  await tm.publish('order', { orderId: 7 })
  tm.consumerGroup('events', 'g').addConsumer('a', ({ payload }) => payload.at.getTime())
  expectType<Pulled<Output>>()(await tm.pull('events', 'g'))
  const untyped: Tidemark = tm
  void untyped

  // A map may have both, and needs the schemas that it names.
  type Mixed = { events: typeof zodEvent; logs: { line: string } }
  const mixed = await open<Mixed>('sqlite::memory:', { schemas: { events: zodEvent } })
  await mixed.publish('logs', { line: 'x' })
  tm.consumerGroup('events').addConsumer('a', ({ payload }) => payload.at.getTime())
  // @ts-expect-error: nothing would make dates of the texts
  await open<Mixed>('sqlite::memory:')
  // @ts-expect-error: the schema of another topic
  await open<Mixed>('sqlite::memory:', { schemas: { logs: zodEvent } })
}

/** A schema goes before the map; a topic of the map is required all the same. */
export function both(tm: Tidemark<{ events: Input }>): void {
  expectType<Topic<Input, Output>>()(tm.topic('events', { schema: zodEvent }))
  expectType<ConsumerGroup<Output>>()(tm.consumerGroup('events', 'g', { schema: zodEvent }))
  // @ts-expect-error: no such topic
  tm.topic('event', { schema: zodEvent })
}
