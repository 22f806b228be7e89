/** The engines under test. One suite for both: what holds on one holds on the other. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type IndexDatabase, type IndexOptions, makeRunId, openIndex } from '@tidemark/pipeline'
import { Client } from 'pg'
import { migratedDatabase, temporaryFolder } from '../../../testing/databases.ts'

export type FreshIndex = AsyncDisposable & {
  readonly address: string
  /** Of `runId`, unless another is given; closed with the place, where the test has not done so before. */
  readonly runId: string
  open(options?: IndexOptions, runId?: string): Promise<IndexDatabase>
  /** Past the API, into the tables of `runId`; `run.` stands for its schema. */
  execute(sql: string): Promise<Record<string, unknown>[]>
}

export type Engine = { readonly name: 'SQLite' | 'PostgreSQL'; fresh(): Promise<FreshIndex> }

export const ENGINES: readonly Engine[] = [
  {
    name: 'SQLite',
    async fresh() {
      const folder = temporaryFolder()
      const runId = makeRunId()
      const file = join(folder.path, 'indexes', `${schemaOf(runId)}.db`)
      const execute = async (sql: string) => {
        using db = new DatabaseSync(file, { timeout: 5_000 })
        return db.prepare(sql.replaceAll('run.', '')).all()
      }
      return place(`sqlite:${folder.path}/indexes`, runId, execute, async () => folder[Symbol.dispose]())
    },
  },
  {
    name: 'PostgreSQL',
    async fresh() {
      const { url, drop } = await migratedDatabase()
      const runId = makeRunId()
      const execute = (sql: string) => executePostgres(url, sql.replaceAll('run.', `"${schemaOf(runId)}".`))
      return place(url, runId, execute, drop)
    },
  },
]

export async function executePostgres(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

export const schemaOf = (runId: string): string => `run_${runId.replaceAll('-', '_')}`

function place(
  address: string,
  runId: string,
  execute: FreshIndex['execute'],
  remove: () => Promise<void>,
): FreshIndex {
  const opened = new Set<IndexDatabase>()
  return {
    address,
    runId,
    execute,
    async open(options, ofRun = runId) {
      const database = await openIndex(address, ofRun, { durability: 'process', ...options })
      opened.add(database)
      return database
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(database => database.close()))
      await remove()
    },
  }
}
