import type { ConsumerGroup, Delivery, EventName, Events, Reader, Schema, Tidemark } from '../index.ts'
import { until } from './until.ts'

/** The next message of a reader that must have one. */
export async function receive<T>(reader: Reader<T>): Promise<Delivery<T>> {
  const delivery = await reader.poll('60s')
  if (delivery === null) throw new Error(`The reader of ${reader.topic} got nothing`)
  return delivery
}

/** Fails if the promise hangs. */
export async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  const settled = { yet: false }
  const note = () => {
    settled.yet = true
  }
  promise.then(note, note)
  await until(() => settled.yet, { what })
  return await promise
}

/** Receives and acks this many messages; returns their payloads. */
export async function consume<T>(reader: Reader<T>, count: number): Promise<T[]> {
  const payloads: T[] = []
  while (payloads.length < count) {
    const delivery = await receive(reader)
    payloads.push(delivery.payload)
    await delivery.ack()
  }
  return payloads
}

/** Adds a consumer that records what it receives. */
export function collect<T>(group: ConsumerGroup<T>, id = 'collector'): Delivery<T>[] {
  const deliveries: Delivery<T>[] = []
  group.addConsumer(id, delivery => {
    deliveries.push(delivery)
  })
  return deliveries
}

export const payloadsOf = <T>(deliveries: readonly Delivery<T>[]): T[] => deliveries.map(({ payload }) => payload)

/** Every event with this name from now on. */
export function eventsOf<Name extends EventName>(tm: Tidemark, name: Name): Events[Name][] {
  const events: Events[Name][] = []
  tm.on(name, event => events.push(event))
  return events
}

/** Waits until the list has this many events. */
export async function happened<T>(events: readonly T[], count: number, what: string): Promise<readonly T[]> {
  await until(() => events.length >= count, { what })
  return events
}

/** The state of a group; a queue's only group has no name. */
export async function groupOf(tm: Tidemark, topic: string, name = '') {
  const { groups } = await tm.admin.describeTopic(topic)
  const group = groups.find(each => each.group === name)
  if (group === undefined) throw new Error(`Topic ${topic} has no group '${name}'`)
  return group
}

/** Makes a handler wait until the test opens the gate. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>()

  get passed(): Promise<void> {
    return this.#opened.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** A `pub-sub` topic 'events'. */
export async function pubSub(tm: Tidemark, more = {}): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', ...more })
  return tm
}

/** Whether nothing is left to process. */
export const isDone = ({
  backlog,
  inFlight,
  retries,
}: {
  backlog: number
  inFlight: number
  retries: number
}): boolean => backlog + inFlight + retries === 0

/** A schema that says when it is asked, and answers when it is told to. */
export function slowValidator() {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const validate = async (value: unknown) => {
    asked.resolve()
    await answered.promise
    return { value }
  }
  const schema: Schema = { '~standard': { version: 1, vendor: 'conformance', validate } }
  return { schema, asked: asked.promise, answer: answered.resolve }
}
