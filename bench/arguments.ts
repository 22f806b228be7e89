import { parseArgs } from 'node:util'
import { ENGINES, type EngineName, type Suite } from './suite.ts'

export type BenchArguments = {
  readonly suites: readonly Suite[]
  readonly engines: readonly EngineName[]
  readonly only: string | undefined
  readonly quick: boolean
  /** undefined: bench/results/<suite>.json */
  readonly json: string | undefined
  /** Into the documentation as well. */
  readonly write: boolean
  readonly help: boolean
}

/** What was asked for on the command line. Throws an error that says what is wrong with it. */
export function parseArguments(args: string[], all: readonly Suite[]): BenchArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      only: { type: 'string' },
      json: { type: 'string' },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const suites = positionals.map(name => findSuite(name, all))
  if (values.json !== undefined && suites.length > 1) throw new Error('--json names one file: run one suite at a time')
  const { only } = values
  if (only !== undefined && !suites.some(suite => suite.cases.some(each => each.name.includes(only)))) {
    throw new Error(`No case has '${only}' in its name. --help lists them`)
  }
  return {
    suites,
    engines: findEngines(values.engine),
    only,
    quick: values.quick,
    json: values.json,
    write: values.write,
    help: values.help,
  }
}

export function helpText(all: readonly Suite[]): string {
  const width = Math.max(...all.flatMap(suite => suite.cases.map(each => each.name.length)))
  const suites = all.map(suite => {
    const cases = suite.cases.map(each => `    ${each.name.padEnd(width)}  ${each.about}`)
    return [`  ${suite.name}: ${suite.about}`, ...cases].join('\n')
  })
  return `npm run bench -- <suite> [options]

Suites and their cases:
${suites.join('\n')}

Options:
  --engine ${ENGINES.join('|')}  one engine only
  --only <case>             cases with this in their name
  --quick                   a tenth of the sizes: shows that it works, not how fast it is
  --json <file>             where the figures go (default: bench/results/<suite>.json)
  --write                   write tables and plots into docs/ as well (peers only)

A missed target is reported, not an error: the exit code is 0 whenever everything could be measured. Only scale exits
with 1 if its predictions are off.`
}

function findSuite(name: string, all: readonly Suite[]): Suite {
  const found = all.find(suite => suite.name === name)
  if (found) return found
  throw new Error(`There is no suite '${name}'. There are: ${all.map(suite => suite.name).join(', ')}`)
}

function findEngines(name: string | undefined): readonly EngineName[] {
  if (name === undefined) return ENGINES
  const found = ENGINES.find(engine => engine === name)
  if (found) return [found]
  throw new Error(`--engine is one of ${ENGINES.join(', ')}, not '${name}'`)
}
