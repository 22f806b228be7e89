import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { openPostgres } from '../../src/stores/postgres/store.ts'
import { openSqlite } from '../../src/stores/sqlite/store.ts'
import type { Store } from '../../src/stores/store.ts'

/** How the tests reach into an engine's tables, to let time pass there. */
type Sql = {
  readonly lease: string
  readonly retry: string
  readonly longAgo: string
  /** Past too, and after `longAgo`: what falls due with a lease that ran out comes after what was due before. */
  readonly lately: string
  readonly now: string
  /**
   * The oldest transaction that is open, in whatever database of the server, and the next one: no watermark gets past what was
   * published when it began. null where there is one writer at a time.
   */
  readonly horizon: string | null
  /** The table of what is known of partitions; null where there are none. */
  readonly partition: string | null
  earlier(column: string, ms: number): string
  readonly subscription: string
  log(topic: number): string
  leaseId(token: string): string
  execute(sql: string): Promise<readonly Record<string, unknown>[]>
}

/** A store that can be restarted, and whose leases and delays end at a word. */
export class TestStore implements AsyncDisposable {
  readonly name: string
  readonly #open: () => Promise<Store>
  readonly #sql: Sql
  readonly #dispose: () => Promise<void>
  #store: Store | undefined

  constructor(name: string, open: () => Promise<Store>, sql: Sql, dispose: () => Promise<void>) {
    this.name = name
    this.#open = open
    this.#sql = sql
    this.#dispose = dispose
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error(`${this.name} is not open`)
    return this.#store
  }

  /** Writers commit in any order, and an id that was drawn may come to nothing. */
  get hasConcurrentWriters(): boolean {
    return this.#sql.horizon !== null
  }

  async restart(): Promise<this> {
    await this.#store?.close()
    this.#store = await this.#open()
    return this
  }

  /** The group's live leases run out: all, or the one of this token. */
  async runOut(subscription: number, token?: string): Promise<void> {
    const { lease, lately, leaseId, execute } = this.#sql
    const which = token === undefined ? '' : ` and token = '${leaseId(token)}'`
    await execute(
      `update ${lease} set deadline = ${lately} where subscription_id = ${subscription} and ${LIVE}${which}`,
    )
  }

  async makeDue(subscription: number): Promise<void> {
    const { retry, longAgo, execute } = this.#sql
    await execute(`update ${retry} set due_at = ${longAgo} where subscription_id = ${subscription} and token is null`)
  }

  /** Retries are served by due time; what is due at all becomes due at one time, so that clocks play no part. */
  async levelDueTimes(subscription: number): Promise<void> {
    const { retry, longAgo, now, execute } = this.#sql
    await execute(
      `update ${retry} set due_at = ${longAgo} ` +
        `where subscription_id = ${subscription} and token is null and due_at <= ${now} and due_at > ${longAgo}`,
    )
  }

  /** As the sweep does with leases that were closed an hour ago. */
  async forgetClosed(subscription: number): Promise<void> {
    const { lease, execute } = this.#sql
    await execute(`delete from ${lease} where subscription_id = ${subscription} and not (${LIVE})`)
  }

  /** Which of these messages are in the log. */
  async stored(topic: number, ids: readonly number[]): Promise<Set<number>> {
    const { log, execute } = this.#sql
    const rows = await execute(`select id from ${log(topic)} where id in (${ids.join()})`)
    return new Set(rows.map(row => Number(row.id)))
  }

  /** As if so much time had passed since the topic's messages were published. */
  async age(topic: number, ms: number): Promise<void> {
    const { log, partition, earlier, execute } = this.#sql
    await execute(`update ${log(topic)} set created_at = ${earlier('created_at', ms)}`)
    if (partition === null) return
    await execute(`update ${partition} set newest = ${earlier('newest', ms)} where topic_id = ${topic}`)
  }

  /** Death and resurrection, but for what else comes with them. */
  async setStatus(subscription: number, status: 'ACTIVE' | 'DEAD', from: 'ACTIVE' | 'DEAD'): Promise<boolean> {
    const { subscription: table, execute } = this.#sql
    const rows = await execute(
      `update ${table} set status = '${status}' where id = ${subscription} and status = '${from}' returning id`,
    )
    return rows.length > 0
  }

  /** Whether all transactions that are open now end soon; a watermark may stay behind one that doesn't. */
  async settlesDown(): Promise<boolean> {
    const { horizon, execute } = this.#sql
    if (horizon === null) return true
    const look = async (): Promise<{ oldest: bigint; next: bigint }> => {
      const [row] = await execute(`select ${horizon}`)
      return { oldest: BigInt(String(row?.oldest)), next: BigInt(String(row?.next)) }
    }
    const { next } = await look()
    return await until(async () => (await look()).oldest >= next, {
      what: 'open transactions to end',
      timeout: 5_000,
    }).then(
      () => true,
      () => false,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.close()
    await this.#dispose()
  }
}

const LIVE = 'done_at is null and expired_at is null'

const ROW_CACHE_BYTES = 4_000
const noLogger = { debug() {}, info() {}, warn() {}, error() {} }

export async function sqliteTestStore(): Promise<TestStore> {
  const folder = temporaryFolder()
  const path = `${folder.path}/app.db`
  const options = {
    path,
    durability: 'process',
    busyTimeoutMs: 10_000,
    ownFile: true,
    rowCacheBytes: ROW_CACHE_BYTES,
  } as const
  const database = new DatabaseSync(path, { timeout: 10_000 })
  database.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const sql: Sql = {
    lease: 'tidemark_lease',
    retry: 'tidemark_retry',
    longAgo: '1',
    lately: '2',
    now: "unixepoch('subsec') * 1000 + 1",
    horizon: null,
    partition: null,
    earlier: (column, ms) => `${column} - ${ms}`,
    subscription: 'tidemark_subscription',
    log: topic => `tidemark_log_${topic}`,
    leaseId: token => token,
    execute: async text => database.prepare(text).all(),
  }
  const dispose = async (): Promise<void> => {
    database.close()
    folder[Symbol.dispose]()
  }
  return await new TestStore('sqlite', () => openSqlite(options), sql, dispose).restart()
}

export async function postgresTestStore(): Promise<TestStore> {
  const database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const sql: Sql = {
    lease: 'tidemark.lease',
    retry: 'tidemark.retry',
    longAgo: "timestamptz '2000-01-01'",
    lately: "timestamptz '2001-01-01'",
    now: 'clock_timestamp()',
    horizon: `pg_snapshot_xmin(pg_current_snapshot())::text as oldest, pg_snapshot_xmax(pg_current_snapshot())::text as next`,
    partition: 'tidemark.partition',
    earlier: (column, ms) => `${column} - ${ms} * interval '1 millisecond'`,
    subscription: 'tidemark.subscription',
    log: topic => `tidemark.log_${topic}`,
    // The token also tells the lease's size.
    leaseId: token => token.split(':')[0] ?? '',
    execute: async text => (await client.query(text)).rows,
  }
  const open = (): Promise<Store> =>
    openPostgres({
      url: database.url,
      namespace: 'default',
      poolSize: 2,
      rowCacheBytes: ROW_CACHE_BYTES,
      logger: noLogger,
    })
  const dispose = async (): Promise<void> => {
    await client.end()
    await database.drop()
  }
  return await new TestStore('postgres', open, sql, dispose).restart()
}
