import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { DatabaseUnreachableError } from '../../errors.ts'
import type { Operator } from '../operator.ts'
import { Connection } from './connection.ts'
import { diagnose } from './diagnose.ts'
import { appliedMigrations, migrate, migrationSql, newestVersion, usableVersion } from './migrate.ts'
import { repair } from './repair.ts'
import { mapError } from './sqlite-errors.ts'

const BUSY_TIMEOUT_MS = 10_000

export function sqliteOperator(path: string): Operator {
  const connected = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = new Connection({ path, durability: 'full', busyTimeoutMs: BUSY_TIMEOUT_MS })
    try {
      return await work(connection)
    } catch (error) {
      throw mapError(error, path)
    } finally {
      await connection.close()
    }
  }
  return {
    versions: async () => ({ location: path, found: foundVersion(path), newest: newestVersion(), hasFunctions: true }),
    migrate: () =>
      connected(async connection => {
        await connection.prepareForUse()
        return { location: path, found: await migrate(connection), newest: newestVersion(), hasFunctions: true }
      }),
    migrationSql: async () => migrationSql(path, foundVersion(path)),
    repair: async () => {
      // Opening would make the file, and find nothing wrong with it.
      if (!existsSync(path)) throw new DatabaseUnreachableError(path)
      return await connected(async connection => {
        usableVersion(
          path,
          appliedMigrations(sql => connection.prepare(sql)),
        )
        return await repair(connection)
      })
    },
    diagnose: async () => diagnose(path),
  }
}

function foundVersion(path: string): number {
  if (!existsSync(path)) return 0
  try {
    using db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    return usableVersion(
      path,
      appliedMigrations(sql => db.prepare(sql)),
    )
  } catch (error) {
    throw mapError(error, path)
  }
}
