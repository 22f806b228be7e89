import type { StatementSync } from 'node:sqlite'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { Connection, rowsOf } from '../../src/stores/sqlite/connection.ts'
import { migrate } from '../../src/stores/sqlite/migrate.ts'

/** A connection that keeps the text of every statement that was prepared. */
export class Listening extends Connection {
  readonly texts = new Set<string>()

  override prepare(sql: string): StatementSync {
    this.texts?.add(sql)
    return super.prepare(sql)
  }

  plan(text: string): string[] {
    return rowsOf<{ detail: string }>(super.prepare(`explain query plan ${text}`)).map(({ detail }) => detail)
  }
}

export async function listening(): Promise<Listening & AsyncDisposable> {
  const folder = temporaryFolder()
  const connection = new Listening({ path: `${folder.path}/app.db`, durability: 'process', busyTimeoutMs: 1_000 })
  await connection.prepareForUse()
  await migrate(connection)
  await connection.startClock()
  return Object.assign(connection, {
    async [Symbol.asyncDispose]() {
      await connection.close()
      folder[Symbol.dispose]()
    },
  })
}
