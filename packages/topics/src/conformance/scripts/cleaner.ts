/** Cleans up in an endless loop, and reports each step, so that it can be killed in the middle of one. */
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
  // Does not wait for a reader: what is reported is done.
  process.send?.({ removed, lost: lost.reduce((sum, { count }) => sum + count, 0) })
}
