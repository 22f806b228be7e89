import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import { FileSystemStorage, makeRunId, type StartedPipeline, startPipeline } from '../../src/index.ts'
import { metadataOf } from '../indexes/ticks.ts'
import { SILENT } from './world.ts'

const HOUR_MS = 3_600_000

/** Indexers alone, as on the second machine of a cluster. */
async function startIndexers(dataFolder: string, run?: string): Promise<StartedPipeline> {
  const started = await startPipeline({
    dataFolder,
    only: ['metadata-indexer', 'dummy-indexer'],
    run,
    newRun: false,
    ticks: undefined,
    logger: SILENT,
    interrupted: new AbortController().signal,
  })
  assert.ok(started)
  return started
}

const waitingFor = ({ pipeline }: StartedPipeline): string[] =>
  pipeline.status().services.flatMap(({ waitingFor }) => waitingFor ?? [])

/** The clocks of two machines differ, and both may start within the same second. */
describe('indexers that are started before their run', () => {
  it('index it, even if it began before them by the clock of its machine', async () => {
    using folder = temporaryFolder()
    await using started = await startIndexers(folder.path)
    await until(() => waitingFor(started).includes('a run to begin'), { what: 'the indexers to wait for a run' })
    const runId = makeRunId(Date.now() - HOUR_MS)
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    await storage.writeMetadata(metadataOf(runId))
    await until(() => waitingFor(started).includes(`the metadata of run ${runId}`), { what: 'the indexer of that run' })
  })

  it("wait for the next one with --run next, whatever their machine's clock says", async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'storage') })
    const runs = [3, 2].map(hours => makeRunId(Date.now() - hours * HOUR_MS))
    await storage.writeMetadata(metadataOf(runs[0] ?? ''))
    await using started = await startIndexers(folder.path, 'next')
    await until(() => waitingFor(started).includes('a run to begin'), { what: 'the indexers to wait for a run' })
    await storage.writeMetadata(metadataOf(runs[1] ?? ''))
    await until(() => waitingFor(started).includes(`the metadata of run ${runs[1]}`), {
      what: 'the indexer of that run',
    })
  })
})
