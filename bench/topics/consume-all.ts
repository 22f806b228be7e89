import type { ConsumerGroup, Tidemark } from 'tidemark'
import type { Order } from './payloads.ts'

export type Consumption = {
  readonly topic: string
  /** In the topic; each group gets them all. */
  readonly messages: number
  readonly groups: number
  /** undefined: the default. */
  readonly batchSize?: number
  readonly sharedPayloads?: boolean
}

let runs = 0

/**
 * New groups read the topic from its beginning, all at once. Resolves when the last ack is stored, with the deliveries
 * per second; fails where a group did not get each message once.
 */
export async function consumeAll(tidemark: Tidemark, wanted: Consumption): Promise<number> {
  const run = ++runs
  const deliveries = wanted.messages * wanted.groups
  const counts = new Array<number>(wanted.groups).fill(0)
  const groups = counts.map((_, index) =>
    createGroup(tidemark, wanted, `run-${run}-${index}`, () => {
      counts[index] = (counts[index] ?? 0) + 1
    }),
  )
  const acked = whenAcked(tidemark, wanted.topic, deliveries)
  const started = performance.now()
  await Promise.all(groups.map(group => group.start({ from: 'beginning' })))
  await acked
  const seconds = (performance.now() - started) / 1_000
  await Promise.all(groups.map(group => group.cancel()))
  const wrong = counts.find(count => count !== wanted.messages)
  if (wrong !== undefined) throw new Error(`A group got ${wrong} deliveries of ${wanted.messages} messages`)
  return deliveries / seconds
}

function createGroup(tidemark: Tidemark, wanted: Consumption, name: string, count: () => void): ConsumerGroup<Order> {
  const { topic, batchSize, sharedPayloads = false } = wanted
  const group = tidemark.consumerGroup<Order>(topic, name, { sharedPayloads, ...(batchSize && { batchSize }) })
  return group.addConsumer('consumer', async ({ payload }) => {
    if (payload.orderId > 0) count()
  })
}

async function whenAcked(tidemark: Tidemark, topic: string, deliveries: number): Promise<void> {
  const done = Promise.withResolvers<void>()
  let left = deliveries
  const stopCounting = tidemark.on('acked', event => {
    if (event.topic === topic) left -= event.count
    if (left <= 0) done.resolve()
  })
  const stopWatching = tidemark.on('error', event => done.reject(event.error))
  try {
    await done.promise
  } finally {
    stopCounting()
    stopWatching()
  }
}
