import { setTimeout as delay } from 'node:timers/promises'
import type { Account } from './account.ts'
import type { Observer, Progress } from './progress.ts'
import type { Role } from './role.ts'

const LOOK_MS = 200
/** Without any progress, a wait is given up. */
const PATIENCE_MS = 180_000

/** Something that should have happened has not. */
export class StuckError extends Error {}

export type Watched = {
  readonly account: Account
  readonly observer: Observer
  readonly roles: readonly Role[]
  readonly ticks: number
  readonly signal: AbortSignal
}

/** Waits, telling how far everything is, until the condition holds. Fails if a role ends, or if nothing goes on. */
export async function waitFor(
  what: string,
  condition: (progress: Progress) => boolean | Promise<boolean>,
  { account, observer, roles, ticks, signal }: Watched,
): Promise<Progress> {
  let last = ''
  let changedAt = performance.now()
  for (;;) {
    signal.throwIfAborted()
    const progress = await observer.look()
    for (const role of roles) role.usage()
    const failure = roles.map(role => role.failure()).find(each => each !== undefined)
    if (failure !== undefined) throw new StuckError(failure)
    if (await condition(progress)) return progress
    const now = JSON.stringify(progress)
    if (now !== last) [last, changedAt] = [now, performance.now()]
    if (performance.now() - changedAt > PATIENCE_MS) throw new StuckError(stuck(what, roles))
    const waiting = progress.waiting.reduce((sum, count) => sum + count, 0)
    account.wait(`${progress.indexed} of ${ticks} ticks indexed, ${waiting} batches wait; ${what}`)
    await delay(LOOK_MS, undefined, { signal })
  }
}

const stuck = (what: string, roles: readonly Role[]): string =>
  [
    `Nothing has changed for ${PATIENCE_MS / 1_000} s: ${what}. The logs end with`,
    ...roles.map(role => `${role.name}:\n${role.endOfLog()}`),
  ].join('\n\n')
