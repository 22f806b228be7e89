/** A producer in a thread of its own, as the simulation is: encodes ticks that it has, and moves them to the queue. */

import type { MessagePort } from 'node:worker_threads'
import { workerData } from 'node:worker_threads'
import { type EncodedTick, encodeTick, WorkerQueueSender } from '@tidemark/pipeline'
import { worldTicks } from '../world.ts'

export type EncodingWork = {
  readonly runId: string
  readonly count: number
  readonly port: MessagePort
  readonly start: MessagePort
}

const { runId, count, port, start } = workerData as EncodingWork
const ticks = worldTicks(runId, count)
// What runs for hours is compiled; what is measured here is to be so, too.
for (const tick of ticks) encodeTick(tick)
const sender = new WorkerQueueSender<EncodedTick>(port)
start.once('message', async () => {
  for (const tick of ticks) await sender.put(encodeTick(tick))
  sender.close()
  start.close()
})
start.postMessage('ready')
