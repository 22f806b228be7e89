import { Client, Pool } from 'pg'
import type { Tidemark } from 'tidemark'
import { SHARED_STORES, type TestDatabase } from '../conformance/stores.ts'

const [store] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => store?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

/** A connected client of `pg`, as an application has one beside Tidemark. */
export async function connected(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** The database may be dropped while its connections are closing. */
export function poolAt(connectionString: string): Pool {
  return new Pool({ connectionString }).on('error', () => {})
}

/** The client as any other library would use it, with a count of the statements that publishing sent. */
export function counting(client: Client) {
  const counted = {
    statements: 0,
    query(text: string, values: unknown[]) {
      counted.statements++
      return client.query(text, values)
    },
  }
  return counted
}

/** Payloads of the topic 'work'. */
export const stored = async (tm: Tidemark): Promise<unknown[]> =>
  (await tm.admin.browse('work')).messages.map(({ payload }) => JSON.parse(String(payload)))

/** A new database with a topic 'work'. */
export async function withTopic(): Promise<{ database: TestDatabase; tm: Tidemark } & AsyncDisposable> {
  const database = await fresh()
  const tm = await database.open()
  await tm.configureTopic('work')
  return { database, tm, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}
