/** A worker that puts ticks of the given sizes and reports each put. It answers a ping with a pong. */
import { parentPort, workerData } from 'node:worker_threads'
import { type EncodedTick, WorkerQueueSender } from '../../../src/index.ts'
import { ticksOf } from '../../storage/ticks.ts'

const { port, sizes, end } = workerData
parentPort?.on('message', ping => parentPort?.postMessage({ pong: ping }))
const sender = new WorkerQueueSender<EncodedTick>(port)
for (const [tick, genomeBytes] of (sizes as number[]).entries()) {
  const [encoded] = ticksOf([tick], { genomeBytes })
  if (encoded === undefined) throw new Error('There is one')
  try {
    await sender.put(encoded)
  } catch (error) {
    parentPort?.postMessage({ error: (error as Error).name, tick })
    break
  }
  parentPort?.postMessage({ put: tick, left: encoded.bytes.length })
}
if (end === 'close') sender.close()
if (end === 'exit') process.exit(0)
