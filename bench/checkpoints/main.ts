/** npm run checkpoint -- <name>: runs a scenario and judges it by its pass criteria. `--help` lists them. */
import { join } from 'node:path'
import { type CheckpointArguments, helpText, parseArguments } from './arguments.ts'
import { CHECKPOINTS } from './checkpoints.ts'
import type { Checkpoint } from './frame/checkpoint.ts'
import { Progress } from './frame/progress.ts'
import { type Report, runCheckpoint } from './frame/run-checkpoint.ts'
import { EXIT, formatVerdict } from './frame/verdict.ts'

const RESULTS = join(import.meta.dirname, '..', 'results', 'checkpoints')
/** After Ctrl-C servers and processes have this long to end. The watchdog ends the rest. */
const STOP_MS = 15_000

// What is measured waits for a real disk, here and in the processes that are started.
process.env.TIDEMARK_ON_DISK = '1'
process.exit(await main(process.argv.slice(2)))

async function main(args: string[]): Promise<number> {
  const asked = understand(args)
  if (asked === undefined) return EXIT.usage
  if (asked.show === 'list') for (const { name } of CHECKPOINTS) console.log(name)
  if (asked.show === 'help') console.log(helpText(CHECKPOINTS))
  if (asked.show !== undefined) return EXIT.passed
  const signal = signalOfInterrupts()
  let worst: number = EXIT.passed
  for (const checkpoint of asked.checkpoints) {
    const code = await judge(checkpoint, asked, signal)
    if (code === EXIT.stopped) return code
    worst = Math.max(worst, code)
  }
  return worst
}

function understand(args: string[]): CheckpointArguments | undefined {
  try {
    return parseArguments(args, CHECKPOINTS)
  } catch (error) {
    console.error(`${(error as Error).message}.`)
    return undefined
  }
}

async function judge(checkpoint: Checkpoint, asked: CheckpointArguments, signal: AbortSignal): Promise<number> {
  const { full } = asked
  const engine = asked.engine ?? checkpoint.engines[0] ?? 'postgres'
  const file = asked.json ?? join(RESULTS, `${checkpoint.name}-${engine}.json`)
  console.log(`${checkpoint.name} on ${engine}${full ? ', full length' : ''}: ${checkpoint.about}`)
  try {
    using progress = new Progress(full ? checkpoint.seconds.full : checkpoint.seconds.scaled)
    const running = runCheckpoint(checkpoint, { engine, full, signal, progress, file })
    const report = await Promise.race([running, givenUp(signal)])
    progress[Symbol.dispose]()
    print(report, file)
    return report.passed ? EXIT.passed : EXIT.failed
  } catch (error) {
    if (signal.aborted) {
      console.error('Stopped. Nothing was judged.')
      return EXIT.stopped
    }
    console.error(`The checkpoint could not be run to its end: ${(error as Error).stack}`)
    return EXIT.broken
  }
}

function print(report: Report, file: string): void {
  console.log(`\n${formatVerdict(report.criteria)}`)
  for (const remark of report.remarks ?? []) console.log(`- ${remark}`)
  const machine = Object.entries(report.machine).map(([name, value]) => `${name} ${value}`)
  console.log(`- ${report.seconds} s; ${machine.join(', ')}\nWritten to ${file}`)
}

/** A second Ctrl-C ends this process at once; the watchdog then clears up. */
function signalOfInterrupts(): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) process.exit(EXIT.stopped)
      console.error('\nStopping …')
      stopping.abort(new Error('Stopped'))
    })
  }
  return stopping.signal
}

async function givenUp(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    signal.addEventListener('abort', () => setTimeout(() => reject(signal.reason), STOP_MS).unref())
  })
}
