import { join } from 'node:path'
import {
  BATCH_TOPIC,
  batchEnvelope,
  contractsRegistry,
  dropIndex,
  FileSystemStorage,
  makeRunId,
  openIndex,
  type SimulationMetadata,
  type StoredBatch,
  topicOfRun,
} from '@tidemark/pipeline'
import { open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../testing/folders.ts'
import { storedBatches } from '../pipeline/made-world.ts'
import type { IndexEngine } from './engines/engine.ts'

/** A run of the 100 × 100 world, stored in batches; what is made of them is up to the case. */
export class StoredWorld implements Disposable {
  readonly runId: string
  readonly storage: FileSystemStorage
  readonly batches: readonly StoredBatch[]
  readonly #folder: ReturnType<typeof temporaryFolder>

  static async of(batches: number, ticksOfBatch: number): Promise<StoredWorld> {
    const folder = temporaryFolder()
    const root = join(folder.path, 'storage')
    const runId = makeRunId()
    const stored = batches === 0 ? [] : await storedBatches({ runId, batches, ticksOfABatch: ticksOfBatch }, root)
    return new StoredWorld(folder, runId, await FileSystemStorage.open({ root }), stored)
  }

  private constructor(
    folder: ReturnType<typeof temporaryFolder>,
    runId: string,
    storage: FileSystemStorage,
    batches: readonly StoredBatch[],
  ) {
    this.#folder = folder
    this.runId = runId
    this.storage = storage
    this.batches = batches
  }

  metadata(): SimulationMetadata {
    const { runId } = this
    const environment = { shape: [100, 100], topology: 'torus' } as const
    const known = { startedAt: 0, seed: '42', samplingInterval: 1, settings: '{}', moleculeTypes: [] }
    return { runId, environment, ...known }
  }

  /** An empty index of the run, with its metadata. */
  async freshIndex({ address }: IndexEngine): Promise<void> {
    await dropIndex(address, this.runId)
    await using index = await openIndex(address, this.runId)
    await index.metadata.write(this.metadata())
  }

  async freshTopics(name: string): Promise<Tidemark> {
    const url = `sqlite:${join(this.#folder.path, `${name}.db`)}`
    return await open(url, { registry: contractsRegistry, maintenance: false })
  }

  async announce(topics: Tidemark): Promise<void> {
    const topic = topicOfRun(BATCH_TOPIC, this.runId)
    for (const batch of this.batches) await topics.publish(topic, batchEnvelope(batch))
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]()
  }
}
