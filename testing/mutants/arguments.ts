import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'

export type Asked = {
  readonly help: boolean
  readonly list: boolean
  /** Parts of names, areas or files; empty: all mutants. */
  readonly only: readonly string[]
  readonly jobs: number
  /** Begins no mutant after this time; `--resume` tries the rest. */
  readonly minutes: number
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
  --minutes <n>     begin no mutant after so many minutes; --resume tries the rest
  --resume          keep the results in the JSON file and try only the remaining mutants
  --json <path>     file of the results (default testing/mutants/results.json)
  --help            print this text
`

export function parseArguments(args: string[]): Asked {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      resume: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { jobs = String(Math.min(2, availableParallelism())), minutes, json, ...rest } = values
  if (!/^[1-9]\d?$/.test(jobs)) throw new Error(`--jobs is '${jobs}'. Give a number from 1 to 99.`)
  if (minutes !== undefined && !/^[1-9]\d{0,3}$/.test(minutes))
    throw new Error(`--minutes is '${minutes}'. Give a number from 1 to 9999.`)
  return {
    ...rest,
    json,
    jobs: Number(jobs),
    minutes: minutes === undefined ? Number.POSITIVE_INFINITY : Number(minutes),
  }
}
