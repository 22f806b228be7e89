/** Reads in an endless loop with a few acks in flight; nacks bad messages, and now and then a good one. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Delivery, open, StaleDeliveryError } from '../../index.ts'
import { type ConsumerEntry, Journal } from '../crash/journal.ts'
import { SeededRandom } from '../seeded-random.ts'

const MOST_PENDING = 3
const NACK_ONE_IN = 30
/** Maximum time per message, in which its consumer can be killed, or stopped until the lease is lost. */
const LONGEST_WORK_MS = 20

export type ConsumerArguments = {
  readonly url: string
  readonly topic: string
  readonly group: string
  readonly journal: string
  readonly batchSize: number
}

const { url, topic, group, journal: path, batchSize } = JSON.parse(process.argv[2] ?? '') as ConsumerArguments
const journal = new Journal<ConsumerEntry>(path)
const random = new SeededRandom()
const pending = new Set<Promise<void>>()

const tm = await open(url)
const reader = tm.reader<{ key: string }>(topic, { group, from: 'beginning', batchSize })
process.on('message', () => reader.close())
for await (const delivery of reader) {
  note('delivered', delivery)
  const settled: Promise<void> = settle(delivery).finally(() => pending.delete(settled))
  pending.add(settled)
  if (pending.size >= MOST_PENDING) await Promise.race(pending)
}
await Promise.all(pending)
await tm.close()
process.disconnect()

async function settle(delivery: Delivery<{ key: string }>): Promise<void> {
  const isBad = delivery.payload.key.startsWith('bad') || random.next() * NACK_ONE_IN < 1
  await delay(random.next() * LONGEST_WORK_MS)
  try {
    note(isBad ? 'nacking' : 'acking', delivery)
    if (isBad) await reader.nack(delivery, new Error('It is bad'))
    else await reader.ack(delivery)
    note(isBad ? 'nacked' : 'acked', delivery)
  } catch (error) {
    if (!(error instanceof StaleDeliveryError)) throw error
    note('stale', delivery)
  }
}

function note(kind: ConsumerEntry['kind'], { payload, id, version, attempt }: Delivery<{ key: string }>): void {
  journal.write({ kind, key: payload.key, id, version, attempt })
}
