/** take-turn.ts <what, as JSON>: one contender, each case once, on a server that is there already. */
import { CASES } from '../cases.ts'
import { ENTRANTS } from '../entrants.ts'
import type { TurnMessage, WantedTurn } from '../turn.ts'

const wanted = JSON.parse(process.argv[2] ?? '') as WantedTurn
const entrant = ENTRANTS.find(({ id }) => id === wanted.entrant)
if (entrant === undefined) throw new Error(`There is no contender '${wanted.entrant}'`)

const tell = async (message: TurnMessage): Promise<void> =>
  await new Promise(resolve => process.send?.(message, () => resolve()))

const contender = await entrant.open(wanted.address)
for (const each of CASES.filter(({ name }) => wanted.cases.includes(name))) {
  globalThis.gc?.()
  const values = await each.measure(contender, { topic: each.name, ms: wanted.ms })
  await tell({ case: each.name, values })
}
await tell({ version: contender.version })
// Some libraries wait for their pollers when they are closed, and nobody needs this process any more.
process.exit(0)
