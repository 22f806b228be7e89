import { spawnScript } from '../../testing/processes.ts'
import type { Entrant } from './entrants.ts'
import type { Values } from './line.ts'
import { type Backend, memoryOf } from './servers.ts'

export type WantedTurn = {
  readonly entrant: string
  readonly address: string
  readonly cases: readonly string[]
  /** How long one sample should take. */
  readonly ms: number
}

/** What the process says: what it measured, and in the end which version of the library that was. */
export type TurnMessage = { readonly case: string; readonly values: Values } | { readonly version: string }

export type Turn = { readonly values: Values; readonly version: string; readonly failure: string | null }

const SCRIPT = new URL('scripts/take-turn.ts', import.meta.url)
/** Nobody may hold up the others for longer. */
const LONGEST_MS = 60_000

/** Measures one contender in a process of its own, so that neither its heap nor its compiled code is another's. */
export async function takeTurn(entrant: Entrant, backend: Backend, wanted: WantedTurn): Promise<Turn> {
  await using script = spawnScript(SCRIPT, [JSON.stringify(wanted)], { nodeFlags: ['--expose-gc'] })
  const values: { -readonly [name in keyof Values]: number | null } = {}
  let version: string | undefined
  script.onMessage(message => {
    const told = message as TurnMessage
    if ('version' in told) version = told.version
    else Object.assign(values, told.values)
    if ('case' in told && told.case === 'cost' && backend.pid) values['server-memory'] = memoryOf(backend.pid)
  })
  const timer = setTimeout(() => script.kill('SIGKILL'), LONGEST_MS)
  const { code } = await script.exited
  clearTimeout(timer)
  if (code === 0) return { values, version: version ?? '', failure: null }
  const reason =
    script.errorLines.find(line => /^\w*error\b.*:/i.test(line)) ?? `it took longer than ${LONGEST_MS / 1_000} s`
  return { values, version: version ?? '', failure: `${entrant.name}: ${reason.trim()}` }
}
