import type { Connection } from './connection.ts'

/** What is free is written into the file's header, where whoever measures the file finds it. Nobody has to wait for it. */
export async function reclaim(connection: Connection): Promise<void> {
  await connection.checkpoint()
}
