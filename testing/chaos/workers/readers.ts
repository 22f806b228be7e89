/** Two readers: `ledger` is alone in its group and sees messages in order; `billing` settles several at a time. */
import { setTimeout as delay } from 'node:timers/promises'
import { NamespaceGoneError, type Reader, type Tidemark } from 'tidemark'
import { isBad, type Payload } from '../world.ts'
import { handed, noteDelivered, noteSettlement } from './settle.ts'
import { isPassing, pause, random, runWorker, stopping } from './worker.ts'

const NACK_ONE_IN = 40
const LONGEST_WORK_MS = 10

await runWorker(async tm => {
  await Promise.all([read(tm, 'orders', 'ledger', 4), read(tm, 'audit', 'billing', 8)])
})

async function read(tm: Tidemark, topic: string, group: string, mostPending: number): Promise<void> {
  let reader = open(tm, topic, group)
  const pending = new Set<Promise<void>>()
  while (!stopping.signal.aborted) {
    try {
      const delivery = await reader.poll(500)
      if (delivery === null) continue
      const message = handed(topic, group, delivery)
      noteDelivered(message)
      const settled: Promise<void> = settle(reader, message.key, delivery, message).finally(() =>
        pending.delete(settled),
      )
      pending.add(settled)
      if (pending.size >= mostPending) await Promise.race(pending)
    } catch (error) {
      if (!isPassing(error)) throw error
      await pause(100)
      // A reader that could not subscribe stays that way.
      await reader.close().catch(tolerate)
      reader = open(tm, topic, group)
    }
  }
  await Promise.all(pending)
  await reader.close()
}

function open(tm: Tidemark, topic: string, group: string): Reader<Payload> {
  return tm.reader<Payload>(topic, { group, from: 'beginning', batchSize: 6 })
}

function tolerate(error: unknown): void {
  if (error instanceof NamespaceGoneError || !isPassing(error)) throw error
}

async function settle(
  reader: Reader<Payload>,
  key: string,
  delivery: Parameters<typeof reader.ack>[0],
  message: ReturnType<typeof handed>,
): Promise<void> {
  await delay(random.below(LONGEST_WORK_MS))
  const isNack = isBad(key) || random.chance(1 / NACK_ONE_IN)
  try {
    if (isNack) await noteSettlement('nack', [message], () => reader.nack(delivery, new Error('This message is bad')))
    else await noteSettlement('ack', [message], () => reader.ack(delivery))
  } catch (error) {
    // Journaled as unknown; the lease expires, and the message comes again.
    if (!isPassing(error)) throw error
  }
}
