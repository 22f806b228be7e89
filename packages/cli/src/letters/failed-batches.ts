import { isRunId, RunLedgers } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type Given, present } from '../given.ts'
import { counted } from '../output/counted.ts'
import { payloadText } from '../output/message.ts'
import { table } from '../output/table.ts'
import { runLocations } from '../runs/run-locations.ts'

export async function listFailed(given: Given, { output, environment }: Surroundings): Promise<ExitCode> {
  const runId = runOf(given)
  const { indexes } = await runLocations(given, environment)
  const batches = await new RunLedgers(indexes).failed(runId, present({ indexer: given.text('indexer') }))
  output.result(batches, () =>
    table(
      ['indexer', 'ticks', 'attempts', 'file', 'error'],
      batches.map(({ indexer, tickStart, tickEnd, version, key, error }) => [
        indexer,
        `${tickStart} to ${tickEnd}`,
        version,
        key,
        payloadText(error ?? ''),
      ]),
    ),
  )
  return EXIT.done
}

export async function retryFailedBatches(given: Given, { output, environment }: Surroundings): Promise<ExitCode> {
  const runId = runOf(given)
  const keys = given.list('key')
  if (given.flag('all') === keys.length > 0) throw new UsageError('No batches selected. Give keys, or --all')
  const { indexes } = await runLocations(given, environment)
  const ledgers = new RunLedgers(indexes)
  const failed = await ledgers.failed(runId, present({ indexer: given.text('indexer') }))
  const chosen = failed.filter(({ key }) => keys.length === 0 || keys.includes(key))
  let retried = 0
  for (const { indexer, key } of chosen) if (await ledgers.retry(runId, indexer, key)) retried++
  output.result({ retried }, () => [`Indexing ${counted(retried, 'batch', 'batches')} again`])
  return EXIT.done
}

function runOf(given: Given): string {
  const runId = given.argument('run')
  if (!isRunId(runId)) throw new UsageError(`'${runId}' is not a run id. 'tidemark runs' lists the runs`)
  return runId
}
