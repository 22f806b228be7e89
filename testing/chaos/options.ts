import { parseArgs } from 'node:util'
import type { Fault } from './faults/fault.ts'
import { FAULTS } from './faults/faults.ts'
import { TURNS } from './pipeline/run-pipeline.ts'
import type { Engine } from './world.ts'

type Scenario = 'topics' | 'pipeline'

export type ChaosOptions = {
  readonly engines: readonly Engine[]
  readonly scenarios: readonly Scenario[]
  readonly seeds: readonly number[]
  readonly seconds: number
  readonly faults: readonly string[] | undefined
  readonly events: readonly number[] | undefined
  readonly shrink: boolean
  readonly mutants: boolean | string
  readonly json: string
  readonly help: boolean
}

const ENGINES: readonly Engine[] = ['sqlite', 'postgres', 'jetstream']
/** Without --engine. JetStream needs a program that may have to be fetched, and has no pipeline of its own. */
const DEFAULT_ENGINES: readonly Engine[] = ['sqlite', 'postgres']
const SCENARIOS: readonly Scenario[] = ['topics', 'pipeline']
/** Both engines with two seeds within two minutes. */
const SHORT = { seeds: 2, seconds: 14 }

/** Throws an error that says what is wrong with the command line. */
export function parseOptions(args: string[]): ChaosOptions {
  const { values } = parseArgs({
    args,
    options: {
      engine: { type: 'string' },
      scenario: { type: 'string' },
      seed: { type: 'string' },
      seeds: { type: 'string' },
      seconds: { type: 'string' },
      faults: { type: 'string' },
      events: { type: 'string' },
      short: { type: 'boolean', default: false },
      'no-shrink': { type: 'boolean', default: false },
      mutants: { type: 'boolean', default: false },
      mutant: { type: 'string' },
      json: { type: 'string', default: 'testing/chaos/results/chaos.json' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const first =
    values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : wholeNumber('--seed', values.seed, 0)
  const count = wholeNumber('--seeds', values.seeds ?? (values.short ? SHORT.seeds : 1), 1)
  const events = values.events?.split(',').map(text => wholeNumber('--events', text, 0))
  if (events !== undefined && (values.seed === undefined || count > 1)) throw new Error('--events needs one --seed')
  return {
    engines: values.engine === undefined ? DEFAULT_ENGINES : oneOf('--engine', ENGINES, values.engine),
    // The pipeline has faults of its own, which come in turns.
    scenarios:
      values.scenario === undefined && (values.short || values.faults || events || values.engine === 'jetstream')
        ? ['topics']
        : oneOf('--scenario', SCENARIOS, values.scenario),
    seeds: Array.from({ length: count }, (_, index) => first + index),
    seconds: wholeNumber('--seconds', values.seconds ?? (values.short ? SHORT.seconds : 60), 5),
    faults: faultsOf(values.faults),
    events,
    // Each attempt takes as long as a run.
    shrink: !values['no-shrink'] && !values.short && events === undefined,
    mutants: values.mutant ?? values.mutants,
    json: values.json,
    help: values.help,
  }
}

export function helpText(mutants: readonly { readonly name: string; readonly about: string }[]): string {
  return `npm run chaos -- [options]

Runs publishers, groups, readers, pull clients, maintenance and an operator in processes of their own, breaks things by a
schedule made from a seed, heals them, waits until everything is drained, and checks the journals of all processes.

Options:
  --engine sqlite|postgres|jetstream  one engine only (default: the first two); jetstream: topics on three nodes
  --scenario topics|pipeline  one scenario only (default: both; with --short, --faults or --events: topics)
  --seed <number>           seed of the first run (default: random)
  --seeds <number>          number of runs, with consecutive seeds (default 1)
  --seconds <number>        duration of the faults in one run (default 60, at least 5)
  --faults <a,b>            only these faults
  --events <0,3>            only these events of the seed's schedule
  --short                   two seeds of ${SHORT.seconds} seconds on each engine, for CI
  --no-shrink               don't look for fewer faults that show the same violation
  --mutants                 check that each deliberate defect is caught; works on a copy of the sources
  --mutant <name>           … only this one
  --json <file>             results (default: testing/chaos/results/chaos.json)

Faults:
${table(FAULTS.map(({ name, about, engines }) => [name, engines.length === 1 ? `${about} [${engines[0]}]` : about]))}

In the scenario 'pipeline', these are taken away or broken in turns: ${TURNS.join(', ')}.

Mutants:
${table(mutants.map(({ name, about }) => [name, about]))}

Exit code: 0 everything holds, 1 an invariant is violated or a mutant was not caught, 2 a rare path never ran, so the run
doesn't count. TIDEMARK_KEEP=1 keeps the journals.`
}

export function faultsFor(engine: Engine, names: readonly string[] | undefined): Fault[] {
  return FAULTS.filter(({ name, engines }) => engines.includes(engine) && (names?.includes(name) ?? true))
}

const table = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`).join('\n')
}

function wholeNumber(option: string, text: string | number, least: number): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`${option} is '${text}'; allowed: a whole number from ${least}`)
}

/** All of them if none is named. */
function oneOf<Name extends string>(
  option: string,
  names: readonly Name[],
  given: string | undefined,
): readonly Name[] {
  if (given === undefined) return names
  const found = names.find(name => name === given)
  if (found !== undefined) return [found]
  throw new Error(`${option} is '${given}'; allowed: ${names.join(', ')}`)
}

function faultsOf(text: string | undefined): readonly string[] | undefined {
  const names = text?.split(',')
  const known = new Set(FAULTS.map(({ name }) => name))
  const unknown = names?.find(name => !known.has(name))
  if (unknown === undefined) return names
  throw new Error(`--faults names '${unknown}'; allowed: ${[...known].join(', ')}`)
}
