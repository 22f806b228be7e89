import type { Command } from './command.ts'
import { audit } from './commands/audit.ts'
import * as backfill from './commands/backfill.ts'
import * as claims from './commands/claims.ts'
import * as config from './commands/config.ts'
import * as deadLetters from './commands/dead-letters.ts'
import { doctor } from './commands/doctor.ts'
import * as groups from './commands/groups.ts'
import { inspect } from './commands/inspect.ts'
import * as letters from './commands/letters.ts'
import { migrate } from './commands/migrate.ts'
import { publish } from './commands/publish.ts'
import { repair } from './commands/repair.ts'
import * as runs from './commands/runs.ts'
import { serve } from './commands/serve.ts'
import { start } from './commands/start.ts'
import { tail } from './commands/tail.ts'
import * as token from './commands/token.ts'
import * as topics from './commands/topics.ts'
import type { CommandGroup } from './help.ts'

export const GROUPS: readonly CommandGroup[] = [
  { name: 'topics', summary: 'list, describe, configure and delete topics' },
  { name: 'groups', summary: 'list, pause, resume, reset and remove consumer groups' },
  { name: 'claims', summary: 'list the messages that consumers hold; release a claim' },
  { name: 'dead-letters', summary: 'list, inspect, redrive and discard dead letters' },
  { name: 'letters', summary: 'list, inspect, redrive and discard dead letters of the pipeline' },
  { name: 'token', summary: 'create, list and revoke tokens of the HTTP server' },
  { name: 'backfill', summary: 'deliver earlier messages to a late consumer group' },
  { name: 'config', summary: 'write, check and show the configuration of a pipeline' },
]

/** A command that needs the pipeline or the server loads it when it runs: loading takes longer than most commands. */
export const COMMANDS: readonly Command[] = [
  start,
  serve,
  publish,
  tail,
  topics.list,
  topics.describe,
  topics.configure,
  topics.remove,
  groups.list,
  groups.consumers,
  groups.retries,
  groups.pause,
  groups.resume,
  groups.cancel,
  groups.resurrect,
  groups.acknowledgeLoss,
  groups.reset,
  groups.remove,
  groups.forceComplete,
  claims.list,
  claims.release,
  deadLetters.list,
  deadLetters.errors,
  deadLetters.inspect,
  deadLetters.redrive,
  deadLetters.discard,
  letters.list,
  letters.inspect,
  letters.redrive,
  letters.discard,
  letters.failed,
  letters.retry,
  backfill.start,
  backfill.progress,
  backfill.cancel,
  backfill.resume,
  token.create,
  token.list,
  token.revoke,
  audit,
  config.init,
  config.check,
  config.print,
  runs.runs,
  runs.list,
  runs.remove,
  inspect,
  doctor,
  migrate,
  repair,
]
