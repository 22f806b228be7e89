import { createInterface } from 'node:readline/promises'
import { UnconfirmedError } from './errors.ts'
import type { Given } from './given.ts'
import { visible } from './output/visible.ts'

/** Asks on a terminal; elsewhere only --yes confirms. `what` begins a sentence: "Deleting topic 'orders'". */
export async function confirm(given: Given, what: string, interrupted: AbortSignal): Promise<void> {
  if (given.flag('yes')) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new UnconfirmedError(what)
  const questions = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await questions.question(`${visible(what)} can't be undone. Continue? [y/N] `, {
      signal: interrupted,
    })
    if (!/^y(es)?$/i.test(answer.trim())) throw new UnconfirmedError(what)
  } finally {
    questions.close()
  }
}
