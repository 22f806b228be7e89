/**
 * What `pg_dump | psql` does to a namespace: the same rows in another cluster, read in one snapshot, sequences and all. Done
 * by statements, because PostgreSQL's own tools may be missing, or too old for the server.
 */
import pg from 'pg'
import { migrate } from '../../src/operate.ts'
import { quoteIdentifier, schemaName } from '../../src/stores/postgres/schema-name.ts'
import { functionsSchema } from './functions-schema.ts'

/** Referenced ones first. */
const TABLES = [
  'namespace',
  'topic',
  'subscription',
  'lease',
  'retry',
  'dead_letter',
  'dedupe',
  'backfill',
  'bit_wipe',
  'partition',
  'job',
  'cluster',
]

type Ends = { readonly from: pg.Client; readonly to: pg.Client; readonly schema: string; readonly functions: string }

export async function copyNamespace(fromUrl: string, toUrl: string, namespace: string): Promise<void> {
  await migrate(toUrl, { namespace })
  await using from = await connected(fromUrl)
  await using to = await connected(toUrl)
  const ends = {
    from: from.client,
    to: to.client,
    schema: quoteIdentifier(schemaName(namespace)),
    functions: functionsSchema(namespace),
  }
  await ends.from.query('begin isolation level repeatable read')
  await ends.to.query('begin')
  for (const table of TABLES) await copyTable(ends, table)
  const { rows: topics } = await ends.from.query<{ id: number; rows: string }>(
    `select id, config ->> 'partitionRows' as rows from ${ends.schema}.topic`,
  )
  for (const { id, rows } of topics) await copyLog(ends, id, Number(rows))
  for (const table of ['topic', 'subscription', 'dead_letter']) {
    const name = `pg_get_serial_sequence('${ends.schema}.${table}', 'id')`
    await ends.to.query(`select setval(${name}, (select coalesce(max(id), 1) from ${ends.schema}.${table}))`)
  }
  await ends.to.query('commit')
}

async function copyLog(ends: Ends, topic: number, rows: number): Promise<void> {
  const { from, to, schema, functions } = ends
  const { rows: kept } = await from.query<{ number: string }>(
    `select number from ${functions}.log_partitions(${topic})`,
  )
  const numbers = kept.map(({ number }) => Number(number))
  await to.query(`select ${functions}.create_log(${topic}, ${rows})`)
  await to.query(`select ${functions}.add_partitions(${topic}, ${rows}, ${(Math.max(...numbers) - 1) * rows})`)
  const tracked = await from.query(`select to_regclass('${schema}.track_${topic}') is not null as is_so`)
  if (tracked.rows[0]?.is_so) await to.query(`select ${functions}.create_track(${topic}, ${rows})`)
  for (let number = 0; number < Math.min(...numbers); number++) {
    await to.query(`drop table ${schema}.log_${topic}_p${number}`)
    if (tracked.rows[0]?.is_so) await to.query(`drop table ${schema}.track_${topic}_p${number}`)
  }
  await copyTable(ends, `log_${topic}`)
  if (tracked.rows[0]?.is_so) await copyTable(ends, `track_${topic}`)
  const sequence = await from.query(`select last_value, is_called from ${schema}.log_${topic}_id`)
  const { last_value, is_called } = sequence.rows[0]
  await to.query(`select setval('${schema}.log_${topic}_id', ${last_value}, ${is_called})`)
}

async function copyTable({ from, to, schema }: Ends, table: string): Promise<void> {
  const name = `${schema}.${quoteIdentifier(table)}`
  // The migration has made a row of its own in one of them.
  if (table === 'namespace') await to.query(`delete from ${name}`)
  const { rows } = await from.query(`select coalesce(json_agg(t), '[]')::text as all from ${name} as t`)
  await to.query(
    `insert into ${name} overriding system value select * from json_populate_recordset(null::${name}, $1::json)`,
    [rows[0]?.all],
  )
}

async function connected(url: string): Promise<AsyncDisposable & { client: pg.Client }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}

/** Uses up transaction ids. */
export async function burnTransactions(url: string, count: number): Promise<void> {
  await using session = await connected(url)
  await session.client.query(
    `do $$ begin for i in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`,
  )
}
