/** run-case.ts <what, as JSON>: one case, on a database that is there already. */
import { CASES } from '../cases.ts'
import { postgresDatabase } from '../engines/postgres.ts'
import { sqliteDatabase } from '../engines/sqlite.ts'
import type { CaseMessage, WantedCase } from '../run-in-process.ts'

const ROUNDS = 15
const QUICK_ROUNDS = 3

const wanted = JSON.parse(process.argv[2] ?? '') as WantedCase
const found = CASES.find(({ name }) => name === wanted.case)
if (found === undefined) throw new Error(`There is no case '${wanted.case}'`)

const tell = (message: CaseMessage, then = (): void => undefined): unknown => process.send?.(message, then)
const figures = await found.run({
  engine: wanted.engine === 'sqlite' ? sqliteDatabase(wanted.url) : postgresDatabase(wanted.url),
  rounds: wanted.quick ? QUICK_ROUNDS : ROUNDS,
  size: full => (wanted.quick ? Math.ceil(full / 10) : full),
  progress: text => tell({ progress: text }),
})
tell({ figures }, () => process.disconnect())
