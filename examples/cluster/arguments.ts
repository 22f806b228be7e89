import { parseArgs } from 'node:util'

export type Arguments = {
  readonly topics: 'postgres' | 'nats'
  /** Number of ticks to simulate, from tick 0 on. */
  readonly ticks: number
  readonly seed: string
  /** Whether the folders of the processes stay for inspection. */
  readonly keep: boolean
}

export const HELP = `A pipeline on many machines, on this one: each role is a process with a folder of its own, and all servers are real.
One role after another is killed with SIGKILL and started again. In the end, the index is compared with that of a single
machine, table by table.

  npm run demo:cluster                      topics and index on PostgreSQL, batches in an S3 bucket; about a minute
  npm run demo:cluster -- --topics nats     topics on a cluster of three NATS servers
  npm run demo:cluster -- --ticks 3000      longer (default 600)
  npm run demo:cluster -- --seed 7          another world (default 'reef')
  npm run demo:cluster -- --keep            keeps the folders of the processes, with their logs

It needs radosgw, ceph-mon and ceph-osd (packages of Debian), and for --topics nats a nats-server 2.12 or later. Exit codes: 0 if
both indexes are equal, 1 if they differ or something failed, 2 for a wrong argument, 130 after Ctrl-C.

Environment variables change the pipeline, as for tidemark start. A world of the size that the roles have by default:
  TIDEMARK_PIPELINE__SERVICES__SIMULATION__SHAPE=[480,300] TIDEMARK_PIPELINE__SERVICES__SIMULATION__ORGANISMS=96 npm run demo:cluster
`

/** Fewer would be over before every role was killed. */
const FEWEST_TICKS = 200
const MOST_TICKS = 1_000_000

/** A wrong argument. */
export class ArgumentError extends Error {}

/** undefined: the help is wanted. */
export function readArguments(args: readonly string[]): Arguments | undefined {
  const { topics, ticks, seed, keep, help } = parse(args)
  if (help) return undefined
  if (topics !== 'postgres' && topics !== 'nats') {
    throw new ArgumentError(`--topics must be 'postgres' or 'nats', not '${topics}'`)
  }
  const count = Number(ticks)
  if (!Number.isInteger(count) || count < FEWEST_TICKS || count > MOST_TICKS) {
    throw new ArgumentError(`--ticks must be a whole number from ${FEWEST_TICKS} to ${MOST_TICKS}, not '${ticks}'`)
  }
  if (seed === '') throw new ArgumentError('--seed must not be empty')
  return { topics, ticks: count, seed, keep }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        topics: { type: 'string', default: 'postgres' },
        ticks: { type: 'string', default: '600' },
        seed: { type: 'string', default: 'reef' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new ArgumentError((error as Error).message)
  }
}
