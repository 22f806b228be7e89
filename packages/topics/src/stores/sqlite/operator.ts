import { existsSync } from 'node:fs'
import { DatabaseUnreachableError } from '../../errors.ts'
import type { Operator } from '../operator.ts'
import { Connection } from './connection.ts'
import { diagnose } from './diagnose.ts'
import type { SqliteDriver } from './driver.ts'
import { nodeSqlite } from './drivers/node-sqlite.ts'
import { appliedMigrations, migrate, migrationSql, newestVersion, usableVersion } from './migrate.ts'
import { readOnly } from './read-only.ts'
import { repair } from './repair.ts'
import { mapError } from './sqlite-errors.ts'

const BUSY_TIMEOUT_MS = 10_000

export function sqliteOperator(path: string, driver = nodeSqlite): Operator {
  const connected = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = new Connection({ driver, path, durability: 'full', busyTimeoutMs: BUSY_TIMEOUT_MS })
    try {
      return await work(connection)
    } catch (error) {
      throw mapError(error, path)
    } finally {
      await connection.close()
    }
  }
  return {
    versions: async () => ({
      location: path,
      found: await foundVersion(path, driver),
      newest: newestVersion(),
      hasFunctions: true,
    }),
    migrate: () =>
      connected(async connection => {
        await connection.prepareForUse()
        return { location: path, found: await migrate(connection), newest: newestVersion(), hasFunctions: true }
      }),
    migrationSql: async () => migrationSql(path, await foundVersion(path, driver)),
    repair: async () => {
      // Opening would create the file, and find nothing wrong with it.
      if (!existsSync(path)) throw new DatabaseUnreachableError(path)
      return await connected(async connection => {
        usableVersion(
          path,
          appliedMigrations(sql => connection.prepare(sql)),
        )
        return await repair(connection)
      })
    },
    diagnose: () => diagnose(path, driver),
  }
}

async function foundVersion(path: string, driver: SqliteDriver): Promise<number> {
  if (!existsSync(path)) return 0
  return await readOnly(path, driver, db =>
    usableVersion(
      path,
      appliedMigrations(sql => db.prepare(sql)),
    ),
  )
}
