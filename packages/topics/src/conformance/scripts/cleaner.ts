/** Cleans up without end, as a process with nothing else to do; says each step, so that it can be killed in the midst of one. */
import { openStore } from '../open-store.ts'

const {
  url,
  topic: name,
  batchSize,
} = JSON.parse(process.argv[2] ?? '') as {
  url: string
  topic: string
  batchSize: number
}

const store = await openStore({ url }, { rowCacheBytes: 0 })
const topic = await store.topics.find(name)
if (topic === undefined) throw new Error(`There is no topic ${name}`)
for (;;) {
  const { removed, lost } = await store.log.cleanUp(topic, batchSize)
  // Waits for nobody to read it: what is said is done.
  process.send?.({ removed, lost: lost.reduce((sum, { count }) => sum + count, 0) })
}
