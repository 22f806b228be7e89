import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'tidemark'

/** One group in a process of its own: node worker.ts <database url> <group> <ms per message> <failures in 100> */
const [url = '', group = '', ms = '5', failures = '0'] = process.argv.slice(2)

const tm = await open(url)
const consumers = tm.consumerGroup<{ orderId: number }>('orders', group, { batchSize: 50 })

consumers.addConsumer(
  `${group}-${process.pid}`,
  async ({ payload, attempt }) => {
    await delay(Number(ms))
    if (attempt === 1 && payload.orderId % 100 < Number(failures)) throw new Error('the mail server is busy')
    process.send?.({ handled: payload.orderId, again: attempt > 1 })
  },
  { concurrency: 4 },
)

await consumers.start({ from: 'beginning' })
process.send?.('ready')

process.once('SIGTERM', () => tm.close().then(() => process.disconnect()))
// Without its parent a worker has nobody to work for.
process.once('disconnect', () => process.exit())
