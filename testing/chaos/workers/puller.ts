/** A client without a connection of its own: it pulls, works, and settles with the receipt, sometimes too late. */
import { setTimeout as delay } from 'node:timers/promises'
import { InvalidReceiptError, type Tidemark } from 'tidemark'
import { isBad, LEASE_MS, type Payload } from '../world.ts'
import { handed, noteDelivered, noteSettlement } from './settle.ts'
import { isPassing, pause, random, runWorker, stopping } from './worker.ts'

const TOPIC = 'audit'
const GROUP = 'http'
const LONGEST_WORK_MS = 40
const LATE_ONE_IN = 60

await runWorker(async tm => {
  while (!stopping.signal.aborted) {
    try {
      await pullOnce(tm)
    } catch (error) {
      if (!isPassing(error) && !(error instanceof InvalidReceiptError)) throw error
      await pause(100)
    }
  }
})

async function pullOnce(tm: Tidemark): Promise<void> {
  const { receipt, messages } = await tm.pull<Payload>(TOPIC, GROUP, { max: 8, wait: '300ms', from: 'beginning' })
  if (receipt === null) return
  const all = messages.map(message => ({ id: message.id, ...handed(TOPIC, GROUP, message) }))
  for (const { id: _, ...message } of all) noteDelivered(message)
  await delay(random.chance(1 / LATE_ONE_IN) ? LEASE_MS + 1_500 : random.below(LONGEST_WORK_MS))
  if (random.chance(0.1)) await tm.extend(receipt).catch(ignoreStale)
  const good = all.filter(({ key }) => !isBad(key))
  const bad = all.filter(({ key }) => isBad(key))
  const entries = (of: typeof all) => of.map(({ id: _, ...message }) => message)
  if (bad.length > 0) {
    const nacks = bad.map(({ id }) => ({ id, error: new Error('This message is bad') }))
    await noteSettlement('nack', entries(bad), () => tm.settle(receipt, { nacks }))
  }
  if (good.length > 0) {
    await noteSettlement('ack', entries(good), () => tm.settle(receipt, { acks: good.map(({ id }) => id) }))
  }
}

/** Extended too late; the settlement after it finds the same. */
function ignoreStale(error: unknown): void {
  if ((error as { code?: string }).code !== 'TIDEMARK_STALE_DELIVERY' && !isPassing(error)) throw error
}
