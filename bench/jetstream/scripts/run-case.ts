/** run-case.ts <what, as JSON>: one case, on servers that run already. */
import { CASES } from '../cases.ts'
import type { CaseMessage, WantedCase } from '../suite.ts'

const ROUNDS = 5
const QUICK_ROUNDS = 2

const wanted = JSON.parse(process.argv[2] ?? '') as WantedCase
const found = CASES.find(({ name }) => name === wanted.case)
if (found === undefined) throw new Error(`There is no case '${wanted.case}'`)

const tell = (message: CaseMessage, then = (): void => undefined): unknown => process.send?.(message, then)
const figures = await found.run({
  url: wanted.url,
  rounds: wanted.quick ? QUICK_ROUNDS : ROUNDS,
  size: full => (wanted.quick ? Math.ceil(full / 4) : full),
  progress: text => tell({ progress: text }),
})
tell({ figures }, () => process.disconnect())
