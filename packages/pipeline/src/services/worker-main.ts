/** Entry of every thread: those that run a service, and those that render tiles. Each loads only what it needs. */
import { workerData } from 'node:worker_threads'

// No top-level await, which a CommonJS bundle can't contain.
void begin()

async function begin(): Promise<void> {
  if (workerData.kind === 'tiles') (await import('../tiles/tile-thread.ts')).serveTiles()
  else await (await import('./service-thread.ts')).runService(workerData)
}
