import type { IndexDatabase } from '@tidemark/pipeline'

/**
 * Columns that say when or by whom something was done, not what came of it: two undisturbed runs differ in them as well.
 * Everything else, in whatever table, has to be the same.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  // The clock.
  'index_migration.applied_at',
  'run_metadata.written_at',
  'processed_key.marked_at',
  'retry_count.first_at',
  'retry_count.last_at',
  'batch_processing.claimed_at',
  'batch_processing.settled_at',
  // Which process it was, and how many had it in hand before.
  'batch_processing.claimer',
  'batch_processing.version',
])

const SQL = {
  sqlite: {
    tables: `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`,
    columns: (table: string) => `select name from pragma_table_info('${table}') order by cid`,
    rows: (table: string, columns: string, order: string) => `select ${columns} from ${table} order by ${order}`,
  },
  postgres: {
    tables: `
      select relname as name from pg_class
      where relnamespace = (select relnamespace from pg_class where oid = 'run.run_metadata'::regclass) and relkind = 'r'
      order by relname`,
    columns: (table: string) => `
      select attname as name from pg_attribute
      where attrelid = 'run.${table}'::regclass and attnum > 0 and not attisdropped order by attnum`,
    rows: (table: string, columns: string, order: string) => `select ${columns} from run.${table} order by ${order}`,
  },
} as const

/** A table of an index: its name with its columns, and every row in the order of its columns (the key comes first). */
export type DumpedTable = { readonly name: string; readonly rows: readonly string[] }

/** All tables of a run's index, one after the other; the same on every engine. */
export async function* tablesOf(index: IndexDatabase): AsyncGenerator<DumpedTable, void, undefined> {
  const sql = SQL[index.engine]
  for (const table of await namesOf(index, sql.tables)) {
    const all = await namesOf(index, sql.columns(table))
    const columns = all.filter(column => !LEFT_OUT.has(`${table}.${column}`))
    const order = columns.map((_, at) => at + 1).join(', ')
    const rows = await index.read<Record<string, unknown>>(sql.rows(table, columns.join(', '), order))
    const lines = rows.map(row => JSON.stringify(columns.map(column => textOf(row[column]))))
    yield { name: `${table} (${columns.join(', ')})`, rows: lines }
  }
}

/** How many rows all tables have together. */
export async function countRows(index: IndexDatabase): Promise<number> {
  let count = 0
  const schema = index.engine === 'postgres' ? 'run.' : ''
  for (const table of await namesOf(index, SQL[index.engine].tables)) {
    const [row] = await index.read<{ count: unknown }>(`select count(*) as count from ${schema}${table}`)
    count += Number(row?.count)
  }
  return count
}

/**
 * All of it as bytes. Not the file itself: in a SQLite file a row stands where its turn came, and after a kill another
 * batch may come first.
 */
export async function dumpOf(index: IndexDatabase): Promise<Buffer> {
  const lines: string[] = []
  for await (const { name, rows } of tablesOf(index)) lines.push(name, ...rows)
  return Buffer.from(lines.join('\n'))
}

async function namesOf(index: IndexDatabase, sql: string): Promise<string[]> {
  return (await index.read<{ name: string }>(sql)).map(({ name }) => name)
}

const textOf = (value: unknown): string | null => {
  if (value === null) return null
  // SQLite has 1 and 0 for them.
  if (typeof value === 'boolean') return value ? '1' : '0'
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}
