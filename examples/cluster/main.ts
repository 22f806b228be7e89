/** npm run demo:cluster: see arguments.ts. */
import { createFolder, removeFolder } from '../../testing/folders.ts'
import { unwatchFolder } from '../../testing/watchdog.ts'
import { Account } from './account.ts'
import { ArgumentError, type Arguments, HELP, readArguments } from './arguments.ts'
import { demonstrate } from './demonstration.ts'
import { requireServers, ServerMissingError } from './servers.ts'
import { StuckError } from './wait.ts'

const EXIT = { same: 0, failed: 1, usage: 2, interrupted: 130 } as const

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    const args = readArguments(process.argv.slice(2))
    if (args !== undefined) return await run(args)
    console.log(HELP)
    return EXIT.same
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    console.error(`${error.message}\n\n${HELP}`)
    return EXIT.usage
  }
}

async function run(args: Arguments): Promise<number> {
  const account = new Account()
  const interrupted = interruption(account)
  const parent = createFolder('tidemark-cluster')
  // The watchdog would remove it when this process ends.
  if (args.keep) unwatchFolder(parent)
  try {
    requireServers(args)
    return (await demonstrate(args, { account, parent, signal: interrupted })) ? EXIT.same : EXIT.failed
  } catch (error) {
    if (interrupted.aborted) return EXIT.interrupted
    if (!(error instanceof StuckError || error instanceof ServerMissingError)) throw error
    account.print(error.message)
    return EXIT.failed
  } finally {
    if (args.keep) account.print(`The folders of the processes: ${parent}`)
    else removeFolder(parent)
  }
}

/** The first Ctrl-C ends everything in order; a second one leaves that to the watchdog. */
function interruption(account: Account): AbortSignal {
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(EXIT.interrupted)
      account.say('stopping everything')
      interrupted.abort()
    })
  }
  return interrupted.signal
}
