import { DatabaseError } from '../../errors.ts'
import { requireOwnCluster } from './cluster.ts'
import type { Database } from './database.ts'
import { codeOf } from './database-errors.ts'
import { BUNDLE_HASH } from './function-bundle.ts'
import { readIncarnation } from './incarnations.ts'
import { NOTED_EVERY, noteUse } from './install-functions.ts'
import { CHECKSUMS, migrate, NEWEST } from './migrate.ts'
import { OWNS, ownsTables } from './owner.ts'
import type { Row } from './row.ts'
import { quoteIdentifier } from './schema-name.ts'

/** Facts about a namespace, read when it is opened. */
export type Opened = {
  readonly incarnation: string
  /** Whether this user may create and drop tables of the namespace. */
  readonly ownsTables: boolean
}

/** SQLSTATE classes of a missing schema, table, column or function, and of a missing right. */
const REFUSED = /^(3F|42)/

/** Whether the tables and this version's functions for them exist. Reads the catalogue only, so it does not fail if they are missing. */
const IS_THERE = 'select case when to_regclass($1) is not null then to_regprocedure($2) is not null end as is_there'

/** Everything a start needs to know, in one statement: separately it took seven round trips. */
const STATE = `
  select exists (select from tidemark.migration as m where m.version = $3) and not exists (
      select from tidemark.migration as m where m.checksum is distinct from ($2::text[])[m.version]
    ) as is_current,
    (select b.last_used_at < clock_timestamp() - ${NOTED_EVERY} from tidemark.function_bundle as b where b.hash = $1) as is_due,
    (select n.incarnation from tidemark.namespace as n) as incarnation,
    (select c.system_identifier from tidemark.cluster as c) = nullif(tidemark_fn.system_identifier(), '') and not exists (
      select from tidemark.subscription as s where tidemark_fn.is_ahead(s.topic_id, s.window_to, s.to_id, 0)
    ) as is_same_cluster,
    (${OWNS}) as owns`

/** Creates, upgrades or checks the namespace. Usually it is ready, and two statements find that out. */
export async function openNamespace(database: Database): Promise<Opened> {
  const ready = await findReady(database)
  if (ready !== undefined) return ready
  await migrate(database)
  await requireOwnCluster(database)
  return { incarnation: await readIncarnation(database), ownsTables: await ownsTables(database) }
}

/** undefined if the namespace is not ready: it has to be created or upgraded, or there is an error to report. */
async function findReady(database: Database): Promise<Opened | undefined> {
  const row = await readState(database).catch(unlessRefused)
  const isReady = row?.is_current === 't' && row.is_same_cluster === 't' && row.is_due !== null
  if (!isReady || !row.incarnation) return undefined
  if (row.is_due === 't') await noteUse(database)
  return { incarnation: row.incarnation, ownsTables: row.owns === 't' }
}

/** Tables of another version, or a missing right: the step-by-step checks report what it is. */
function unlessRefused(error: unknown): undefined {
  if (!(error instanceof DatabaseError) || !REFUSED.test(codeOf(error.cause))) throw error
}

async function readState(database: Database): Promise<Row | undefined> {
  const [tables, functions] = [quoteIdentifier(database.schema), quoteIdentifier(database.functions)]
  const names = [`${tables}.migration`, `${functions}.belongs_to(${tables}.namespace)`]
  const [found] = await database.query(IS_THERE, names)
  if (found?.is_there !== 't') return undefined
  const [row] = await database.query(database.sql(STATE), [BUNDLE_HASH, CHECKSUMS, NEWEST])
  return row
}
