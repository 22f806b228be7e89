/** Ingests standard input and prints each tick's number; SIGTERM stops it. */
import { BoundedQueue, type EncodedTick, IngestService } from '@tidemark/pipeline'
import { SILENT } from '../loggers.ts'

const ticks = new BoundedQueue<EncodedTick>({ maxItems: 5, maxBytes: 1e6, sizeOf: ({ bytes }) => bytes.length })
const service = new IngestService('ingest', { input: '-', ticks }, SILENT)
process.on('SIGTERM', () => void service.stop())
await service.start()
service.ended().then(() => ticks.close())
while (!ticks.isEnded) for (const { tick } of await ticks.drain(1, { timeout: 60_000 })) console.log(`tick ${tick}`)
console.log(service.state)
