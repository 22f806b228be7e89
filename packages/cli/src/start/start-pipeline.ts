import { isRunId, makeRunId, start } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { dataFolderOf } from '../runs/data-folder.ts'

/** Ctrl-C is how it is meant to end: 0, unless something failed. */
export async function startPipeline(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, interrupted } = surroundings
  const ingestedRun = ingestedRunOf(given)
  const server = given.flag('no-server') ? undefined : await import('./open-server.ts')
  const choice = server?.serverChoice(given, surroundings)
  const isWell = await start({
    dataFolder: dataFolderOf(given),
    newRun: given.flag('new'),
    ticks: given.whole('ticks'),
    ingestedRun,
    format: output.json ? 'json' : 'text',
    interrupted,
    ...(server && choice && { serve: started => server.openServer(choice, started) }),
  })
  return isWell ? EXIT.done : EXIT.failed
}

function ingestedRunOf(given: Given): string | undefined {
  const run = given.text('ingest')
  if (run === undefined) return undefined
  const other = ['new', 'ticks', 'no-server'].find(name => given.flag(name) || given.text(name) !== undefined)
  if (other !== undefined) throw new UsageError(`--ingest takes ticks over HTTP until Ctrl-C: leave --${other} out`)
  if (run === 'new') return makeRunId()
  if (!isRunId(run)) throw new UsageError(`--ingest takes a run's id, or 'new', not '${run}'`)
  return run
}
