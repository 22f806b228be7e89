import { type BatchRef, listIndexedRuns, openExistingStorage, type Storage, storageName } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { table } from '../output/table.ts'
import { configFileOf } from '../start/config-choice.ts'
import { indexAddressOf, openStorage } from './data-folder.ts'
import { runLocations } from './run-locations.ts'

type Run = {
  readonly runId: string
  readonly startedAt: Date | null
  readonly shape: readonly number[] | null
  readonly batches: number
  readonly firstTick: number | null
  readonly lastTick: number | null
  readonly quarantined: number
  readonly indexed: boolean
}

export async function listStoredRuns(given: Given, { output, environment }: Surroundings): Promise<ExitCode> {
  const { storage, indexes } = await storedRuns(given, environment)
  const indexed = new Set((await Promise.all(indexes.map(listIndexedRuns))).flat())
  const asked = given.argument('run')
  const found: Run[] = []
  for (const runId of asked === '' ? await allRuns(storage) : [asked]) {
    found.push(await describeRun(storage, runId, indexed.has(runId)))
  }
  output.result(asked === '' ? found : found[0], () =>
    table(
      ['run', 'began', 'world', 'batches', 'ticks', 'quarantined', 'indexed'],
      found.map(run => [
        run.runId,
        run.startedAt?.toISOString() ?? '',
        run.shape?.join(' × ') ?? '',
        run.batches,
        run.lastTick === null ? '' : `${run.firstTick} to ${run.lastTick}`,
        run.quarantined,
        run.indexed ? 'yes' : 'no',
      ]),
    ),
  )
  return EXIT.done
}

/** From a configuration, or from the data folder. */
async function storedRuns(given: Given, environment: NodeJS.ProcessEnv) {
  if (configFileOf(given) === undefined) return { storage: await openStorage(given), indexes: [indexAddressOf(given)] }
  const { storages, indexes } = await runLocations(given, environment)
  const storage = await openExistingStorage(storages)
  if (storage === null) throw new NotFoundError(`None of the storages exists: ${storages.map(storageName).join(', ')}`)
  const named = given.text('index')
  return { storage, indexes: named === undefined ? indexes : [named] }
}

async function allRuns(storage: Storage): Promise<string[]> {
  const found: string[] = []
  let after: string | null = ''
  while (after !== null) {
    const page = await storage.listRuns(after === '' ? {} : { after })
    found.push(...page.items)
    after = page.next
  }
  return found
}

async function describeRun(storage: Storage, runId: string, indexed: boolean): Promise<Run> {
  const metadata = await storage.readMetadata(runId)
  let batches = 0
  let first: BatchRef | undefined
  let last: BatchRef | undefined
  for await (const batch of batchesOf(storage, runId)) {
    batches++
    first ??= batch
    last = batch
  }
  return {
    runId,
    startedAt: metadata === null ? null : new Date(metadata.startedAt),
    shape: metadata?.environment.shape ?? null,
    batches,
    firstTick: first?.tickStart ?? null,
    lastTick: last?.tickEnd ?? null,
    quarantined: (await storage.listQuarantined(runId)).length,
    indexed,
  }
}

/** In tick order; only those that begin at `upTo` or before. */
export async function* batchesOf(
  storage: Storage,
  runId: string,
  upTo?: number,
): AsyncGenerator<BatchRef, void, undefined> {
  let after: string | null = ''
  while (after !== null) {
    const page: Awaited<ReturnType<Storage['listBatches']>> = await storage.listBatches({
      prefix: `${runId}/`,
      ...(upTo !== undefined && { toTick: upTo }),
      ...(after !== '' && { after }),
    })
    yield* page.items
    after = page.next
  }
}
