/** drain-and-sample.ts <url> <topic> <messages>: the process whose heap the case memory looks at. */
import { open } from 'tidemark'
import type { HeapReport } from '../cases/memory.ts'
import { consumeAll } from '../consume-all.ts'
import { PAGE } from '../log-filling.ts'

const SAMPLE_MS = 20
const GC_EVERY = 10

const [url = '', topic = '', messages = ''] = process.argv.slice(2)
const MB = 1024 * 1024
let maxMB = 0
let maxAfterGcMB = 0
let maxRssMB = 0
let samples = 0

const sampling = setInterval(() => {
  const { heapUsed, rss } = process.memoryUsage()
  maxMB = Math.max(maxMB, heapUsed / MB)
  maxRssMB = Math.max(maxRssMB, rss / MB)
  if (++samples % GC_EVERY !== 0) return
  globalThis.gc?.()
  maxAfterGcMB = Math.max(maxAfterGcMB, process.memoryUsage().heapUsed / MB)
}, SAMPLE_MS)

{
  await using tidemark = await open(url)
  await consumeAll(tidemark, { topic, messages: Number(messages), groups: 1, batchSize: PAGE })
}
clearInterval(sampling)
const report: HeapReport = { maxMB, maxAfterGcMB, maxRssMB }
process.send?.(report, () => process.disconnect())
