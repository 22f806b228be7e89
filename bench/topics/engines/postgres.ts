import type pg from 'pg'
import { startPostgres } from '../../../testing/postgres-server.ts'
import { byteaArray } from './bytea-array.ts'
import type { BenchDatabase, BenchEngine, RawBatch, RawTable } from './engine.ts'
import { forgetFiles } from './forget-files.ts'
import { connect } from './postgres-client.ts'
import { countPostgresWrites } from './postgres-writes.ts'

/** A server of its own with fsync on: what is measured is what is durable. */
export async function openPostgresEngine(): Promise<BenchEngine> {
  const server = await startPostgres({ durable: true })
  const client = await connect(server.url)
  const { rows } = await client.query<{ server_version: string; fsync: string }>(
    `select current_setting('server_version') as server_version, current_setting('fsync') as fsync`,
  )
  await client.end()
  if (rows[0]?.fsync !== 'on')
    throw new Error('PostgreSQL runs with fsync off: nothing it does would be worth measuring')
  return {
    ...postgresDatabase(server.url),
    version: rows[0].server_version,
    async forgetCaches() {
      await server.stop()
      await forgetFiles(server.dataDir)
      await server.start()
    },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  }
}

export const postgresDatabase = (url: string): BenchDatabase => ({
  name: 'postgres',
  url,
  rawTable: async name => await PostgresRawTable.create(url, name),
  gatherStatistics: async () => await analyze(url),
  countWrites: async () => await countPostgresWrites(url),
})

async function analyze(url: string): Promise<void> {
  const client = await connect(url)
  await client.query('analyze')
  await client.end()
}

const MESSAGE_COLUMNS = 'id, payload, created_at, key, type, headers, message_id'

class PostgresRawTable implements RawTable {
  readonly #client: pg.Client
  readonly #name: string

  static async create(url: string, name: string): Promise<PostgresRawTable> {
    const client = await connect(url)
    await client.query(
      `create table raw_${name} (id bigint generated always as identity primary key, payload bytea not null,
        created_at timestamptz, key text, type text, headers text, message_id text)`,
    )
    return new PostgresRawTable(client, `raw_${name}`)
  }

  constructor(client: pg.Client, name: string) {
    this.#client = client
    this.#name = name
  }

  prepareBatch(texts: readonly string[]): RawBatch {
    return { size: texts.length, values: byteaArray(texts) }
  }

  async insertBatches(batches: readonly RawBatch[]): Promise<void> {
    const text = `insert into ${this.#name} (payload) select unnest($1::bytea[])`
    for (const { values } of batches) await this.#client.query({ name: 'insert_batch', text, values: [values] })
  }

  async insertOne(payload: string): Promise<void> {
    const text = `insert into ${this.#name} (payload) values ($1)`
    await this.#client.query({ name: 'insert_one', text, values: [Buffer.from(payload)] })
  }

  async readAll(pageSize: number): Promise<number> {
    return await this.#read(MESSAGE_COLUMNS, pageSize)
  }

  async readPayloads(pageSize: number): Promise<number> {
    return await this.#read('id, payload', pageSize)
  }

  async readAndParse(pageSize: number): Promise<number> {
    return await this.#read(MESSAGE_COLUMNS, pageSize, payload => JSON.parse(payload.toString()))
  }

  async #read(columns: string, pageSize: number, use?: (payload: Buffer) => void): Promise<number> {
    const text = `select ${columns} from ${this.#name} where id > $1 order by id limit $2`
    let count = 0
    for (let last = '0'; ; ) {
      const query = { name: columns, text, values: [last, pageSize] }
      const { rows } = await this.#client.query<{ id: string; payload: Buffer }>(query)
      if (use) for (const { payload } of rows) use(payload)
      count += rows.length
      if (rows.length < pageSize) return count
      last = rows.at(-1)?.id ?? last
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
