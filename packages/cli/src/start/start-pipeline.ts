import { isRunId, type Keep, makeRunId, parseBytes, parseKeep, start } from '@tidemark/pipeline'
import type { Surroundings } from '../command.ts'
import { UsageError } from '../errors.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Given } from '../given.ts'
import { dataFolderOf } from '../runs/data-folder.ts'
import { configFileOf, onlyOf, runOf } from './config-choice.ts'

const SMALLEST_DISK = 1e6

/** Ctrl-C is how it is meant to end: 0, unless something failed. */
export async function startPipeline(given: Given, surroundings: Surroundings): Promise<ExitCode> {
  const { output, interrupted } = surroundings
  const ingestedRun = ingestedRunOf(given)
  const server = given.flag('no-server') ? undefined : await import('./open-server.ts')
  const serverChoice = server?.serverChoice(given, surroundings)
  const choice = {
    configFile: configFileOf(given),
    dataFolder: dataFolderOf(given),
    only: onlyOf(given),
    run: runOf(given),
  }
  const isWell = await start({
    ...choice,
    newRun: given.flag('new'),
    ticks: given.whole('ticks'),
    ingestedRun,
    maxDisk: maxDiskOf(given),
    keep: keepOf(given),
    format: output.json ? 'json' : 'text',
    interrupted,
    ...(server &&
      serverChoice && {
        serve: started => {
          const { dataFolder } = choice
          const logger = server.loggerBeside(started.logger, serverChoice, surroundings, dataFolder)
          return server.openServer(serverChoice, { ...started, logger }, dataFolder)
        },
      }),
  })
  return isWell ? EXIT.done : EXIT.failed
}

/** Checked here, so that the error names what was typed. */
function maxDiskOf(given: Given): string | undefined {
  const text = given.text('max-disk')
  if (text !== undefined && text !== 'none') parseBytes('--max-disk', text, { min: SMALLEST_DISK, none: true })
  return text
}

function keepOf(given: Given): Keep | undefined {
  const text = given.text('keep')
  if (text !== undefined) parseKeep('--keep', text)
  return text as Keep | undefined
}

function ingestedRunOf(given: Given): string | undefined {
  const run = given.text('ingest')
  if (run === undefined) return undefined
  const other = ['new', 'ticks', 'run', 'no-server'].find(name => given.flag(name) || given.text(name) !== undefined)
  if (other !== undefined)
    throw new UsageError(`--ingest can't be combined with --${other}: it accepts ticks over HTTP until Ctrl-C`)
  if (run === 'new') return makeRunId()
  if (!isRunId(run)) throw new UsageError(`--ingest must be a run id or 'new', not '${run}'`)
  return run
}
