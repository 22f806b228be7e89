import type { Delivery, Tidemark } from 'tidemark'
import { until } from '../../../../testing/until.ts'

/** What is still to come to each group of the filled namespace, by payload. */
export const WAITING: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  orders: { email: [9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], audit: range(1, 20) },
  tracked: { a: range(7, 12), late: range(1, 12) },
  work: { '': [3, 4, 5] },
}

export const STATUSES = { audit: 'ACTIVE', cancelled: 'CANCELLED', email: 'ACTIVE', paused: 'PAUSED' }

/**
 * A namespace in the middle of its work: groups at several places and in several states, leases that nobody settles, a retry,
 * a dead letter, caller's messageIds, several partitions, and a topic tracked by reference with a backfill.
 */
export async function fill(tm: Tidemark): Promise<void> {
  await tm.configureTopic('orders', {
    semantics: 'pub-sub',
    partitionRows: 10,
    maxAttempts: 2,
    lease: '1s',
    backoff: { initial: 0, max: 0 },
    dedupeWindow: 'forever',
    retention: 'forever',
  })
  for (const group of ['audit', 'paused', 'cancelled']) {
    await using reader = tm.reader('orders', { group, from: 'beginning' })
    await reader.ready()
  }
  await tm.admin.pauseGroup('orders', 'paused')
  await tm.admin.cancelGroup('orders', 'cancelled')
  await tm.publish('orders', 1, { messageId: 'first', key: 'customer-1', headers: { trace: 'abc' } })
  await tm.publishBatch('orders', range(2, 20))
  await failSome(tm)

  await tm.configureTopic('tracked', { semantics: 'pub-sub', tracking: 'reference', partitionRows: 10, lease: '1s' })
  const a = await tm.reader('tracked', { group: 'a', from: 'beginning' }).ready()
  await tm.publishBatch('tracked', range(1, 12))
  for (const delivery of await take(a, 6)) await a.ack(delivery)
  await tm.reader('tracked', { group: 'late', from: 'beginning' }).ready()

  await tm.configureTopic('work', { lease: '1s' })
  await tm.publishBatch('work', range(1, 5))
  const worker = tm.reader('work')
  for (const delivery of await take(worker, 2)) await worker.ack(delivery)
}

/** Of group 'email' 1 to 8 are done, 9 is to be tried again, 10 is a dead letter, and some of the others are held. */
async function failSome(tm: Tidemark): Promise<void> {
  const email = tm.reader('orders', { group: 'email', from: 'beginning' })
  const held = await take(email, 10)
  for (const delivery of held.slice(0, 8)) await email.ack(delivery)
  await held[9]?.nack(new Error('refused once'))
  let again = await email.receive()
  while (again.payload !== 10) again = await email.receive()
  await again.nack(new Error('refused twice'))
  await held[8]?.nack(new Error('to be tried again'))
  const isBuried = async () => (await tm.admin.deadLetters('orders')).length === 1
  await until(isBuried, { what: 'the dead letter' })
}

async function take(reader: { receive(): Promise<Delivery> }, count: number): Promise<Delivery[]> {
  const taken: Delivery[] = []
  while (taken.length < count) taken.push(await reader.receive())
  return taken
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
