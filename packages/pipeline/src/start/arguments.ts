import { parseArgs } from 'node:util'
import { TidemarkError } from 'tidemark'

export const HELP = `The whole pipeline on this machine: a simulation, batch files, topics and an index, live in your terminal.

  npm start                       goes on with the newest run, or begins the first; Ctrl-C stops it
  npm start -- --new              begins a new run
  npm start -- --ticks 300        makes 300 more ticks, indexes them and ends
  npm start -- --data <folder>    keeps everything in that folder (default: ./data)

Every option of docs/configuration.md can be set by the environment, for example
TIDEMARK_PIPELINE__SERVICES__SIMULATION__TICKS_PER_SECOND=20 npm start
`

export type StartArguments = {
  readonly dataFolder: string
  readonly newRun: boolean
  /** How many more; undefined: until it is stopped. */
  readonly ticks: number | undefined
  readonly help: boolean
}

export class StartArgumentError extends TidemarkError {
  constructor(problem: string) {
    super('TIDEMARK_START_ARGUMENT', problem)
  }
}

export function parseStartArguments(args: readonly string[]): StartArguments {
  const { ticks, data, new: newRun, help } = parse(args)
  if (data === '') throw new StartArgumentError('--data takes the path of a folder')
  return { dataFolder: data, newRun, ticks: ticks === undefined ? undefined : wholeOf(ticks), help }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        ticks: { type: 'string' },
        data: { type: 'string', default: './data' },
        new: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new StartArgumentError((error as Error).message)
  }
}

function wholeOf(text: string): number {
  const ticks = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(ticks) && ticks >= 1) return ticks
  throw new StartArgumentError(`--ticks takes a whole number from 1 on, not '${text}'`)
}
