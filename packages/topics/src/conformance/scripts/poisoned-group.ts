/** A group whose handler kills its own process on messages called 'poison', and finishes every other. */
import { open } from '../../index.ts'
import { type HandlerEntry, Journal } from '../crash/journal.ts'

export type PoisonedArguments = {
  readonly url: string
  readonly topic: string
  readonly group: string
  readonly journal: string
  readonly concurrency: number
  readonly batchSize?: number
  /** A second group of the same process, whose handlers are harmless. */
  readonly bystander?: string
}

const settings = JSON.parse(process.argv[2] ?? '') as PoisonedArguments
const { url, topic, group, concurrency, batchSize, bystander } = settings
const journal = new Journal<HandlerEntry>(settings.journal)
const tm = await open(url)
const consumers = tm.consumerGroup<{ key: string }>(topic, group, batchSize === undefined ? {} : { batchSize })
consumers.addConsumer(
  'worker',
  async ({ payload: { key }, attempt, version }) => {
    journal.write({ kind: 'started', key, attempt, version })
    if (key.startsWith('poison')) process.kill(process.pid, 'SIGKILL')
    await new Promise(resolve => setImmediate(resolve))
    journal.write({ kind: 'finished', key, attempt, version })
  },
  { concurrency },
)
if (bystander !== undefined) {
  const others = tm.consumerGroup(topic, bystander, batchSize === undefined ? {} : { batchSize })
  others.addConsumer('bystander', async () => await new Promise(resolve => setImmediate(resolve)))
  await others.start({ from: 'beginning' })
}
await consumers.start({ from: 'beginning' })
process.on('message', async () => {
  await tm.close()
  process.disconnect()
})
