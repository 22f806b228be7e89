import { parseArgs } from 'node:util'
import { ENGINES, type EngineName } from '../suite.ts'
import type { Checkpoint } from './frame/checkpoint.ts'

export type CheckpointArguments = {
  readonly checkpoints: readonly Checkpoint[]
  /** undefined: the default of each checkpoint. */
  readonly engine: EngineName | undefined
  readonly full: boolean
  /** undefined: bench/results/checkpoints/<name>-<engine>.json */
  readonly json: string | undefined
  readonly show: 'help' | 'list' | undefined
}

/** Reads the command line. Throws an error that says what is wrong with it. */
export function parseArguments(args: string[], all: readonly Checkpoint[]): CheckpointArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      json: { type: 'string' },
      full: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const show = values.help ? 'help' : values.list ? 'list' : undefined
  const checkpoints = positionals.map(name => findCheckpoint(name, all))
  if (show === undefined && checkpoints.length === 0)
    throw new Error('Name a checkpoint to run. --list prints their names')
  if (values.json !== undefined && checkpoints.length > 1)
    throw new Error('--json names one file: run one checkpoint at a time')
  const engine = findEngine(values.engine)
  for (const checkpoint of checkpoints) checkEngine(checkpoint, engine)
  return { checkpoints, engine, full: values.full, json: values.json, show }
}

export function helpText(all: readonly Checkpoint[]): string {
  const width = Math.max(...all.map(({ name }) => name.length))
  const lines = all.map(({ name, about, engines, seconds }) => {
    const where = `${engines.join(', ')}; ${durationText(seconds.scaled)}, --full ${durationText(seconds.full)}`
    return `  ${name.padEnd(width)}  ${about}\n  ${' '.repeat(width)}  (${where})`
  })
  return `npm run checkpoint -- <name> [options]

Run a checkpoint: a load or fault scenario with pass criteria. It prints a verdict for each criterion with its figure.

Checkpoints:
${lines.join('\n')}

Options:
  --engine ${ENGINES.join('|')}  engine to run on (default: the first that is listed for the checkpoint)
  --full                    the sizes and the duration of the specification, instead of at most 3 minutes
  --json <file>             file for the report (default: bench/results/checkpoints/<name>-<engine>.json)
  --list                    print the names of the checkpoints
  --help                    print this text

Exit codes: 0 all criteria are met, 1 one is not, 2 wrong usage, 3 it could not be run to its end, 130 stopped by Ctrl-C.`
}

function findCheckpoint(name: string, all: readonly Checkpoint[]): Checkpoint {
  const found = all.find(each => each.name === name)
  if (found) return found
  throw new Error(`There is no checkpoint '${name}'. There are: ${all.map(each => each.name).join(', ')}`)
}

function findEngine(name: string | undefined): EngineName | undefined {
  if (name === undefined) return undefined
  const found = ENGINES.find(engine => engine === name)
  if (found) return found
  throw new Error(`--engine is one of ${ENGINES.join(', ')}, not '${name}'`)
}

function checkEngine({ name, engines }: Checkpoint, engine: EngineName | undefined): void {
  if (engine === undefined || engines.includes(engine)) return
  throw new Error(`The checkpoint '${name}' runs on ${engines.join(' and ')} only, not on ${engine}`)
}

function durationText(seconds: number): string {
  if (seconds >= 7_200) return `${Math.round(seconds / 3_600)} h`
  return seconds >= 120 ? `${Math.round(seconds / 60)} min` : `${seconds} s`
}
