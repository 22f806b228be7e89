import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { StoredBatch } from '@tidemark/pipeline'
import type { WorldWork } from './scripts/world-worker.ts'

type Batches = Pick<WorldWork, 'runId' | 'batches' | 'ticksOfABatch'>

/** The encoded ticks of each batch, one after the other. */
export const encodedBatches = (world: Batches): Promise<Uint8Array[]> => make({ ...world, root: undefined })

export const storedBatches = (world: Batches, root: string): Promise<StoredBatch[]> => make({ ...world, root })

async function make<T>(workerData: WorldWork): Promise<T> {
  const worker = new Worker(new URL('scripts/world-worker.ts', import.meta.url), { workerData })
  const [made] = await once(worker, 'message')
  await worker.terminate()
  return made
}
