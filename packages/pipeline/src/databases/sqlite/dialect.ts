import type { Dialect } from '../sql/dialect.ts'

export const SQLITE: Dialect = {
  integer: 'integer',
  real: 'real',
  bytes: 'blob',
  withoutRowId: 'without rowid',
  now: "cast(unixepoch('subsec') * 1000 as integer)",
  least: 'min',
  greatest: 'max',
  byBytes: '',
  forUpdate: '',
  numbers: 'select value from json_each($1)',
  tableExists: "select 1 from sqlite_schema where type = 'table' and name = $1",
  columnExists: 'select 1 from pragma_table_info($1) where name = $2',
  storeAsIs: () => [],
  // 1000 rows of 10 kB took 68 ms; binding many rows at once was no faster.
  rowsPerInsert: { large: 1, small: 1 },
}

/** A statement for SQLite: there is one schema, and `$1` would be a named parameter. */
export const inSqlite = (sql: string): string => sql.replaceAll(/\brun\./g, '').replaceAll(/\$(\d+)/g, '?$1')
