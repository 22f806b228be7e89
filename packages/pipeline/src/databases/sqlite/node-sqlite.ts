import type * as Sqlite from 'node:sqlite'

/** Not imported: tsup takes the `node:` away from the names of built-in modules, and without it there is no `sqlite`. */
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
export type DatabaseSync = Sqlite.DatabaseSync
