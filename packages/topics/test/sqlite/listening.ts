import { temporaryFolder } from '../../../../testing/databases.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import type { SqliteStatement } from '../../src/stores/sqlite/driver.ts'
import { migrate } from '../../src/stores/sqlite/migrate.ts'
import { rowsOf } from '../../src/stores/sqlite/rows.ts'
import { assemble } from '../../src/stores/sqlite/store.ts'
import type { Store } from '../../src/stores/store.ts'

/** A connection that keeps the text of every statement that was prepared. */
export class Listening extends Connection {
  readonly texts = new Set<string>()

  override prepare(sql: string): SqliteStatement {
    this.texts?.add(sql)
    return super.prepare(sql)
  }

  plan(text: string): string[] {
    return rowsOf<{ detail: string }>(super.prepare(`explain query plan ${text}`)).map(({ detail }) => detail)
  }
}

export async function listening(): Promise<Listening & AsyncDisposable & { readonly store: Store }> {
  const folder = temporaryFolder()
  const path = `${folder.path}/app.db`
  const connection = new Listening({ path, durability: 'process', busyTimeoutMs: 1_000 })
  await connection.prepareForUse()
  await migrate(connection)
  await connection.startClock()
  return Object.assign(connection, {
    store: assemble(connection, { path, ownFile: true, rowCacheBytes: 0 }),
    async [Symbol.asyncDispose]() {
      await connection.close()
      folder[Symbol.dispose]()
    },
  })
}
