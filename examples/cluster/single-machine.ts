import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type IndexDatabase, openIndex } from '@tidemark/pipeline'
import type { Account } from './account.ts'
import { Role } from './role.ts'
import { CONFIG, onOneMachine, type World } from './settings.ts'
import { StuckError } from './wait.ts'

const LOOK_MS = 200

/** All services of the same configuration in one process, on SQLite and files, until everything is indexed. */
export async function runOnOneMachine(
  world: World,
  parent: string,
  account: Account,
  signal: AbortSignal,
): Promise<IndexDatabase> {
  const role = new Role({
    name: 'single machine',
    args: ['start', '--config', CONFIG, '--no-server'],
    environment: onOneMachine(world),
    parent,
    endsItself: true,
  })
  role.start()
  try {
    while (role.isRunning) {
      account.wait(`the single machine: ${role.endOfLog().split('\n').at(-1) || 'starting'}`)
      await delay(LOOK_MS, undefined, { signal })
    }
  } finally {
    await role.kill()
  }
  if (!role.hasFinished) throw new StuckError(`The single machine failed. Its log ends with\n${role.endOfLog()}`)
  return await openIndex(`sqlite:${join(role.folder, 'index')}`, world.runId, { create: false })
}
