import type * as Sqlite from 'node:sqlite'

/** Not imported: tsup removes the `node:` prefix of built-in modules, and without it there is no `sqlite`. */
export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
export type DatabaseSync = Sqlite.DatabaseSync
