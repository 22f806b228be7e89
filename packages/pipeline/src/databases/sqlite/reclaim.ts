import type { SqliteConnection } from './connection.ts'

/** What is free is written into the file's header, where whoever measures the file finds it. Nobody has to wait for it. */
export async function reclaim(connection: SqliteConnection): Promise<void> {
  await connection.checkpoint()
}
