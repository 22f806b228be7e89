import type { IndexConnection } from '../index-connection.ts'
import type { LineageRow } from '../lineage-rows.ts'
import type { OrganismRow } from '../organism-rows.ts'
import type { Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'
import { insertOf, insertRows } from './insert-rows.ts'

/** One row per lineage, so that its first and last tick need no look at all of its organisms. */
const table = ({ integer }: Dialect): string => `
  create table run.lineage (
    lineage ${integer} primary key,
    first_id ${integer} not null, -- organism with the lowest id
    first_tick ${integer} not null,
    last_tick ${integer} not null
  )`

const SUMMED_UP = `
  select lineage, min(id) as first_id, min(first_tick) as first_tick, max(last_tick) as last_tick
  from run.organism
  group by lineage`

/** Of an index that was begun before there was this table. */
const FILL = `
  insert into run.lineage (lineage, first_id, first_tick, last_tick)
  ${SUMMED_UP}`

const insert = ({ least, greatest }: Dialect) =>
  insertOf(
    4,
    values => `
      insert into run.lineage as known (lineage, first_id, first_tick, last_tick)
      values ${values}
      on conflict (lineage) do update set
        first_id = ${least}(excluded.first_id, known.first_id),
        first_tick = ${least}(excluded.first_tick, known.first_tick),
        last_tick = ${greatest}(excluded.last_tick, known.last_tick)`,
  )

const read = ({ numbers }: Dialect, source: string): string => `
  select known.lineage, parent.lineage as parent, known.first_tick as "firstTick", known.last_tick as "lastTick"
  from ${source} as known
  left join run.organism as first_one on first_one.id = known.first_id
  left join run.organism as parent on parent.id = first_one.parent_id and parent.lineage <> known.lineage
  where known.lineage in (${numbers})`

export class StoredLineageRows {
  readonly #connection: IndexConnection

  constructor(connection: IndexConnection) {
    this.#connection = connection
  }

  /** After the table of organisms. */
  async prepare(tx: Transaction): Promise<void> {
    if (await this.#connection.hasTable('lineage', tx)) return
    await tx.run(table(this.#connection.dialect))
    await tx.run(FILL)
  }

  /** Sorted by lineage: two writers of the same lineages in different orders would deadlock. */
  async write(organisms: readonly OrganismRow[], tx: Transaction): Promise<void> {
    const { dialect } = this.#connection
    const rows = [...Map.groupBy(organisms, ({ lineage }) => lineage)].sort(([one], [other]) => one - other)
    await insertRows(rows, valuesOf, { insert: insert(dialect), atOnce: dialect.rowsPerInsert.small, tx })
  }

  async read(lineages: readonly number[]): Promise<LineageRow[]> {
    if (lineages.length === 0 || !(await this.#connection.hasTable('organism'))) return []
    const isKept = await this.#connection.hasTable('lineage')
    const sql = read(this.#connection.dialect, isKept ? 'run.lineage' : `(${SUMMED_UP})`)
    return await this.#connection.read<LineageRow>(sql, JSON.stringify(lineages))
  }
}

function valuesOf([lineage, organisms]: readonly [number, readonly OrganismRow[]]): number[] {
  let [firstId, firstTick, lastTick] = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 0]
  for (const organism of organisms) {
    firstId = Math.min(firstId, organism.id)
    firstTick = Math.min(firstTick, organism.firstTick)
    lastTick = Math.max(lastTick, organism.lastTick)
  }
  return [lineage, firstId, firstTick, lastTick]
}
