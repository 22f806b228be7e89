import type { IndexConnection } from '../index-connection.ts'
import type { LineageRow } from '../lineage-rows.ts'
import {
  type OrganismRow,
  type OrganismRows,
  organismOf,
  type RemovedOrganisms,
  type StoredOrganism,
} from '../organism-rows.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'
import { insertOf, insertRows } from './insert-rows.ts'
import { StoredLineageRows } from './lineage-rows.ts'

const tables = ({ integer }: Dialect): string[] => [
  `create table if not exists run.organism (
    id ${integer} primary key,
    parent_id ${integer}, -- null: it was there from the start
    birth_tick ${integer} not null,
    lineage ${integer} not null,
    birth_position text not null, -- JSON
    first_tick ${integer} not null, -- in which it was seen
    last_tick ${integer} not null,
    death_tick ${integer}
  )`,
  'create index if not exists organism_parent on run.organism (parent_id, id) where parent_id is not null',
]

/**
 * The earliest tick determines the birth, and the earliest tick that shows it dead the death, in whichever order they
 * arrive.
 */
const insert = ({ least, greatest }: Dialect) =>
  insertOf(
    8,
    values => `
      insert into run.organism as known
        (id, parent_id, birth_tick, lineage, birth_position, first_tick, last_tick, death_tick)
      values ${values}
      on conflict (id) do update set
        parent_id = case when excluded.first_tick < known.first_tick then excluded.parent_id else known.parent_id end,
        birth_tick = case when excluded.first_tick < known.first_tick then excluded.birth_tick else known.birth_tick end,
        lineage = case when excluded.first_tick < known.first_tick then excluded.lineage else known.lineage end,
        birth_position =
          case when excluded.first_tick < known.first_tick then excluded.birth_position else known.birth_position end,
        first_tick = ${least}(excluded.first_tick, known.first_tick),
        last_tick = ${greatest}(excluded.last_tick, known.last_tick),
        death_tick = ${least}(
          coalesce(excluded.death_tick, known.death_tick),
          coalesce(known.death_tick, excluded.death_tick)
        )
      where excluded.first_tick < known.first_tick
        or excluded.last_tick > known.last_tick
        or excluded.death_tick < coalesce(known.death_tick, excluded.death_tick + 1)`,
  )

/** An organism that is in no tick after its last one died unseen between two samples. */
const COLUMNS = `
  o.id, o.parent_id as "parentId", o.birth_tick as "birthTick", o.lineage,
  o.birth_position as "birthPosition", o.first_tick as "firstTick", o.last_tick as "lastTick",
  coalesce(
    o.death_tick,
    (select tick from run.organism_tick where tick > o.last_tick order by tick limit 1)
  ) as "deathTick"`

const WINDOW = `
  select max(id) as "nextId"
  from (select id from run.organism where id > $1 order by id limit $2) as looked_at`

const REMOVE = `
  delete from run.organism
  where id > $1 and id <= $2 and last_tick <= $3`

const READ = `
  select ${COLUMNS}
  from run.organism as o
  where o.id = $1`

const lineages = ({ numbers }: Dialect): string => `
  select o.id, o.lineage
  from run.organism as o
  where o.id in (${numbers})`

const ANCESTORS = `
  with recursive line (id, depth) as (
    select cast($1 as bigint), 1
    union all
    select child.parent_id, line.depth + 1
    from line
    join run.organism as child on child.id = line.id
    where child.parent_id is not null and line.depth < $2
  )
  select ${COLUMNS}
  from line
  join run.organism as o on o.id = line.id
  order by line.depth`

const CHILDREN = `
  select ${COLUMNS}
  from run.organism as o
  where o.parent_id = $1 and o.id > $2
  order by o.id
  limit $3`

export class StoredOrganismRows implements OrganismRows {
  readonly #connection: IndexConnection
  readonly #insert: (rows: number) => string
  readonly #lineages: StoredLineageRows

  constructor(connection: IndexConnection) {
    this.#connection = connection
    this.#lineages = new StoredLineageRows(connection)
    this.#insert = insert(connection.dialect)
  }

  async prepare(tx: Transaction): Promise<void> {
    for (const table of tables(this.#connection.dialect)) await tx.run(table)
    await this.#lineages.prepare(tx)
  }

  /** Sorted by id: two writers of the same organisms in different orders would deadlock. */
  async write(rows: readonly OrganismRow[], tx: Transaction): Promise<void> {
    const sorted = rows.toSorted((a, b) => a.id - b.id)
    const atOnce = this.#connection.dialect.rowsPerInsert.small
    await insertRows(sorted, valuesOf, { insert: this.#insert, atOnce, tx })
    await this.#lineages.write(sorted, tx)
  }

  async lineages(lineages: readonly number[]): Promise<LineageRow[]> {
    return await this.#lineages.read(lineages)
  }

  async removeGone(afterId: number, lastTick: number, limit: number, tx: Transaction): Promise<RemovedOrganisms> {
    const [window] = await tx.rows<{ nextId: number | null }>(WINDOW, afterId, limit)
    const nextId = window?.nextId ?? null
    return { removed: nextId === null ? 0 : await tx.run(REMOVE, afterId, nextId, lastTick), nextId }
  }

  async read(id: number): Promise<OrganismRow | null> {
    const [row] = await this.#read(READ, id)
    return row ?? null
  }

  async lineagesOf(ids: readonly number[]): Promise<{ id: number; lineage: number }[]> {
    if (ids.length === 0 || !(await this.#connection.hasTable('organism'))) return []
    return await this.#connection.read(lineages(this.#connection.dialect), JSON.stringify(ids))
  }

  async ancestors(id: number, limit: number): Promise<OrganismRow[]> {
    return await this.#read(ANCESTORS, id, limit)
  }

  async children(id: number, { after, limit }: { after: number; limit: number }): Promise<OrganismRow[]> {
    return await this.#read(CHILDREN, id, after, limit)
  }

  async #read(sql: string, ...values: number[]): Promise<OrganismRow[]> {
    if (!(await this.#connection.hasTable('organism'))) return []
    return (await this.#connection.read<StoredOrganism>(sql, ...values)).map(organismOf)
  }
}

const valuesOf = (row: OrganismRow): SqlValue[] => [
  row.id,
  row.parentId,
  row.birthTick,
  row.lineage,
  JSON.stringify(row.birthPosition),
  row.firstTick,
  row.lastTick,
  row.deathTick,
]
