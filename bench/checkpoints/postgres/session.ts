import type pg from 'pg'
import { connect } from '../../topics/engines/postgres-client.ts'

export type Session = pg.Client & AsyncDisposable

/** A connection that ends with its block. */
export async function openSession(url: string): Promise<Session> {
  const client = await connect(url)
  client.on('error', () => {}) // The server may be ended first.
  return Object.assign(client, { [Symbol.asyncDispose]: async () => await client.end() })
}
