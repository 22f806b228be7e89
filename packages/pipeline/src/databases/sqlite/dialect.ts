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
  storeAsIs: () => [],
  // 1000 rows of 10 kB took 68 ms, of which binding many rows at once saved nothing.
  rowsPerInsert: { large: 1, small: 1 },
}

/** A statement as SQLite takes it: there is one schema, and `$1` would be a name. */
export const inSqlite = (sql: string): string => sql.replaceAll(/\brun\./g, '').replaceAll(/\$(\d+)/g, '?$1')
