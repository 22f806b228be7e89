import { open, type Tidemark } from 'tidemark'
import type { Engine } from './world.ts'

/** Opens a namespace of a run. Streams of JetStream are on every node. */
export async function openNamespace(engine: Engine, url: string, options: object): Promise<Tidemark> {
  if (engine !== 'jetstream') return await open(url, options)
  await import('../../packages/jetstream/src/index.ts')
  // The nodes of a new cluster have no leader for some seconds.
  const replicated: object = { requestTimeout: '30s', ...options, replicas: 3 }
  return await open(url, replicated)
}
