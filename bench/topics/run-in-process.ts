import { spawnScript } from '../../testing/processes.ts'
import type { Figure } from '../figure.ts'
import type { EngineName } from '../suite.ts'

export type WantedCase = {
  readonly case: string
  readonly engine: EngineName
  readonly url: string
  readonly quick: boolean
}

/** What the process says: how far it is, and in the end what it measured. */
export type CaseMessage = { readonly progress: string } | { readonly figures: readonly Figure[] }

const SCRIPT = new URL('scripts/run-case.ts', import.meta.url)

/**
 * What one case leaves behind in a process (its heap, and code compiled for its kinds of objects) is not to slow down or speed
 * up the next: drains took a tenth longer after the cases that publish.
 */
export async function runInProcess(wanted: WantedCase, progress: (text: string) => void): Promise<readonly Figure[]> {
  await using script = spawnScript(SCRIPT, [JSON.stringify(wanted)], { nodeFlags: ['--expose-gc'] })
  let figures: readonly Figure[] | undefined
  script.onMessage(message => {
    const told = message as CaseMessage
    if ('progress' in told) progress(told.progress)
    else figures = told.figures
  })
  const { code } = await script.exited
  for (const line of script.lines) console.error(line)
  if (code !== 0 || figures === undefined) {
    throw new Error(`The case ${wanted.case} failed:\n${script.errorLines.join('\n')}`)
  }
  return figures
}
