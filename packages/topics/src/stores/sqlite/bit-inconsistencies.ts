import type { TopicRecord } from '../topic-record.ts'
import { lowestNeeded } from './held-ids.ts'
import { rowsOf } from './rows.ts'
import { hasTable, logTable, trackTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Rows checked in each part, and sentences reported of each kind. */
const LOOKED_AT = 1_000
const TOLD = 10

/**
 * Bitmap states that must never occur. Checks the oldest messages, the newest, and the next ones of the group that is
 * furthest behind.
 */
export function bitInconsistencies(tx: Transaction, topic: TopicRecord): string[] {
  if (!hasTable(tx, trackTable(topic.id))) return []
  const live = rowsOf<{ id: number }>(
    tx.prepare("select id from tidemark_subscription where topic_id = ? and status in ('ACTIVE', 'PAUSED')"),
    topic.id,
  )
  const next = Math.min(Number.MAX_SAFE_INTEGER, ...live.map(({ id }) => lowestNeeded(tx, id)))
  const found = rowsOf<{ what: string }>(
    tx.prepare(statement(trackTable(topic.id), logTable(topic.id))),
    topic.id,
    next,
  )
  return found.map(({ what }) => what)
}

const statement = (table: string, log: string): string => `
  with
    live as (
      select group_name, bit, live_id from tidemark_subscription
      where topic_id = ?1 and status in ('ACTIVE', 'PAUSED') and bit is not null
    ),
    known(bits) as (
      select coalesce(sum(1 << bit), 0) from (
        select bit from tidemark_subscription where topic_id = ?1 and bit is not null
        union
        select bit from tidemark_bit_wipe where topic_id = ?1
      )
    ),
    looked_at as materialized (
      select * from (select * from ${table} order by id limit ${LOOKED_AT})
      union
      select * from (select * from ${table} order by id desc limit ${LOOKED_AT})
      union
      select * from (select * from ${table} where id >= ?2 order by id limit ${LOOKED_AT})
    ),
    published as materialized (
      select * from (select id from ${log} order by id limit ${LOOKED_AT})
      union
      select * from (select id from ${log} order by id desc limit ${LOOKED_AT})
      union
      select * from (select id from ${log} where id >= ?2 order by id limit ${LOOKED_AT})
    )
  select * from (
    select 'message ' || id || ' waits for a group that does not exist' as what
    from looked_at, known
    where (required | completed) & ~known.bits <> 0
    order by id
    limit ${TOLD}
  )
  union all
  select * from (
    select 'message ' || id || ' was processed by a group of which it was not required'
    from looked_at
    where completed & ~required <> 0
    order by id
    limit ${TOLD}
  )
  union all
  select * from (
    select 'message ' || t.id || ' is not required of group ''' || live.group_name || ''', which was live when it was published'
    from looked_at t
    join live on t.id > live.live_id and t.required & (1 << live.bit) = 0
    order by t.id
    limit ${TOLD}
  )
  union all
  -- While tracking is being switched on, what is not filled yet has none.
  select * from (
    select 'message ' || p.id || ' has no record of which groups must process it' as what
    from published p
    where p.id not in (select id from looked_at) and not exists (select 1 from ${table} t where t.id = p.id)
      and (select fill_next_id from tidemark_topic where id = ?1) is null
    order by p.id
    limit ${TOLD}
  )`
