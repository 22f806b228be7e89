import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'

export type Asked = {
  readonly help: boolean
  readonly list: boolean
  /** Parts of names, areas or files; empty: all mutants. */
  readonly only: readonly string[]
  readonly jobs: number
  /** Runs the tests without a mutant first. */
  readonly baseline: boolean
  /** Goes on where the results in the JSON file end. */
  readonly resume: boolean
  readonly json: string | undefined
}

export const HELP = `npm run mutants [-- options]

Breaks a copy of the repository in one small way at a time, runs the tests that should notice, and prints how many
defects were caught. The working files stay untouched. Exit code 1 below 95 %.

  --only <word>     only mutants with this word in their name, area or file; repeatable
  --list            print the mutants and the tests that should notice each
  --jobs <n>        mutants at the same time (default 2, at most the number of processors)
  --resume          keep the results in the JSON file and try only the remaining mutants
  --no-baseline     do not first run the tests without a mutant
  --json <path>     file of the results (default testing/mutants/results.json)
  --help            print this text
`

export function parseArguments(args: string[]): Asked {
  const { values } = parseArgs({
    args,
    allowNegative: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      resume: { type: 'boolean', default: false },
      baseline: { type: 'boolean', default: true },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { jobs = String(Math.min(2, availableParallelism())), json, ...rest } = values
  if (!/^[1-9]\d?$/.test(jobs)) throw new Error(`--jobs is '${jobs}'. Give a number from 1 to 99.`)
  return { ...rest, json, jobs: Number(jobs) }
}
