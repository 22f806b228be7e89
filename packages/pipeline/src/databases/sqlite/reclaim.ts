import type { SqliteConnection } from './connection.ts'

/** Writes the number of free pages into the header, where the size measurement reads it. Waits for nobody. */
export async function reclaim(connection: SqliteConnection): Promise<void> {
  await connection.checkpoint()
}
