/** `npm start` */
import { TidemarkError } from 'tidemark'
import { HELP, parseStartArguments, StartArgumentError } from './arguments.ts'
import { beginWithLeanAllocator } from './lean-allocator.ts'
import { start } from './start.ts'

beginWithLeanAllocator()

/** npm hands a Ctrl-C on to what has had it already; only one that comes later means that somebody will not wait. */
const SAME_SIGNAL_MS = 1_000

const interrupted = new AbortController()
let interruptedAt = Number.POSITIVE_INFINITY

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A kill like any other: the next start goes on from what is stored.
    if (performance.now() - interruptedAt > SAME_SIGNAL_MS) process.exit(1)
    interruptedAt = Math.min(interruptedAt, performance.now())
    interrupted.abort()
  })
}

try {
  const args = parseStartArguments(process.argv.slice(2))
  if (args.help) console.log(HELP)
  else process.exitCode = await start(args, interrupted.signal)
} catch (error) {
  if (!(error instanceof TidemarkError)) throw error
  console.error(error instanceof StartArgumentError ? `${error.message}\n\n${HELP}` : error.message)
  process.exitCode = 1
}
