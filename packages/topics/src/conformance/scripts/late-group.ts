/**
 * Joins a reference topic late, with small slow batches, so that there is time to kill it. Prints what it has
 * processed.
 */
import { open } from '../../index.ts'

const [url, topic] = process.argv.slice(2)
const tm = await open(url ?? '')
const group = tm.consumerGroup<number>(topic ?? '', 'late', { batchSize: 20 })
group.addConsumer('c', () => {})
process.send?.('ready')
await group.start({
  from: 'beginning',
  backfill: { scope: 'retained', batchSize: 50, maxPerSecond: 1_000, targetLatency: '10s' },
})
process.send?.('done')
