import {
  type OrganismRow,
  type OrganismRows,
  organismOf,
  type RemovedOrganisms,
  type StoredOrganism,
} from '../organism-rows.ts'
import type { Transaction } from '../transaction.ts'
import type { Connection } from './connection.ts'

const TABLES = [
  `create table if not exists organism (
    id integer primary key,
    parent_id integer, -- null: it was there from the start
    birth_tick integer not null,
    lineage integer not null,
    birth_position text not null, -- JSON
    first_tick integer not null, -- in which it was seen
    last_tick integer not null,
    death_tick integer
  )`,
  'create index if not exists organism_parent on organism (parent_id, id) where parent_id is not null',
]

/** The earliest tick tells of the birth, the earliest that shows it dead of the death, whichever came first. */
const WRITE = `
  insert into organism as known
    (id, parent_id, birth_tick, lineage, birth_position, first_tick, last_tick, death_tick)
  values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  on conflict (id) do update set
    parent_id = iif(excluded.first_tick < known.first_tick, excluded.parent_id, known.parent_id),
    birth_tick = iif(excluded.first_tick < known.first_tick, excluded.birth_tick, known.birth_tick),
    lineage = iif(excluded.first_tick < known.first_tick, excluded.lineage, known.lineage),
    birth_position = iif(excluded.first_tick < known.first_tick, excluded.birth_position, known.birth_position),
    first_tick = min(excluded.first_tick, known.first_tick),
    last_tick = max(excluded.last_tick, known.last_tick),
    death_tick = min(
      coalesce(excluded.death_tick, known.death_tick),
      coalesce(known.death_tick, excluded.death_tick)
    )
  where excluded.first_tick < known.first_tick
    or excluded.last_tick > known.last_tick
    or excluded.death_tick < coalesce(known.death_tick, excluded.death_tick + 1)`

/** One that is in no tick after its last has died unseen, between two samples. */
const COLUMNS = `
  o.id, o.parent_id as "parentId", o.birth_tick as "birthTick", o.lineage,
  o.birth_position as "birthPosition", o.first_tick as "firstTick", o.last_tick as "lastTick",
  coalesce(
    o.death_tick,
    (select tick from organism_tick where tick > o.last_tick order by tick limit 1)
  ) as "deathTick"`

const WINDOW = `
  select max(id) as "nextId"
  from (select id from organism where id > ?1 order by id limit ?2) as looked_at`

const REMOVE = `
  delete from organism
  where id > ?1 and id <= ?2 and last_tick <= ?3`

const READ = `
  select ${COLUMNS}
  from organism as o
  where o.id = ?1`

const ANCESTORS = `
  with recursive line (id, depth) as (
    select ?1, 1
    union all
    select child.parent_id, line.depth + 1
    from line
    join organism as child on child.id = line.id
    where child.parent_id is not null and line.depth < ?2
  )
  select ${COLUMNS}
  from line
  join organism as o on o.id = line.id
  order by line.depth`

const CHILDREN = `
  select ${COLUMNS}
  from organism as o
  where o.parent_id = ?1
  order by o.id
  limit ?2`

export class SqliteOrganismRows implements OrganismRows {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async prepare(tx: Transaction): Promise<void> {
    for (const table of TABLES) await tx.run(table)
  }

  async write(rows: readonly OrganismRow[], tx: Transaction): Promise<void> {
    for (const row of rows) {
      const { id, parentId, birthTick, lineage, birthPosition, firstTick, lastTick, deathTick } = row
      const facts = [id, parentId, birthTick, lineage, JSON.stringify(birthPosition)]
      await tx.run(WRITE, ...facts, firstTick, lastTick, deathTick)
    }
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

  async ancestors(id: number, limit: number): Promise<OrganismRow[]> {
    return await this.#read(ANCESTORS, id, limit)
  }

  async children(id: number, limit: number): Promise<OrganismRow[]> {
    return await this.#read(CHILDREN, id, limit)
  }

  async #read(sql: string, ...values: number[]): Promise<OrganismRow[]> {
    if (!(await this.#connection.hasTable('organism'))) return []
    return (await this.#connection.read<StoredOrganism>(sql, ...values)).map(organismOf)
  }
}
