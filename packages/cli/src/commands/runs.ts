import { type BatchRef, listIndexedRuns, type Storage } from '@tidemark/pipeline'
import type { Command } from '../command.ts'
import { DATA, indexAddressOf, openStorage } from '../data-folder.ts'
import { EXIT } from '../exit-codes.ts'
import { table } from '../output/table.ts'

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

export const runs: Command = {
  name: 'runs',
  summary: 'Lists the runs that are stored, or shows one',
  arguments: [{ name: 'run', optional: true }],
  options: {
    ...DATA,
    index: { value: '<address>', help: 'the indexes, where they are not in the data folder' },
  },
  examples: [
    { run: 'tidemark runs --data ./data', what: 'when each began, what is stored of it, and whether it is indexed' },
  ],
  run: async (given, { output }) => {
    const storage = await openStorage(given)
    const indexed = new Set(await listIndexedRuns(indexAddressOf(given)))
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
  },
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

/** In the order of their ticks; those that begin at `upTo` at the latest. */
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
