/**
 * A real PostgreSQL server in a folder of its own, for tests.
 *
 *   startPostgres() ──▶ running ──stop() or kill()──▶ stopped ──start()──▶ running, same port and data
 *                          └────────────disposal─────────┴──▶ gone, and its folder with it
 */
import { Client } from 'pg'
import { findFreePort } from './free-port.ts'
import { createCluster, endOfLog, type PostgresCluster, removeCluster } from './postgres-cluster.ts'
import { PostgresProcess } from './postgres-process.ts'
import { until } from './until.ts'

export type PostgresOptions = {
  /** On the disk, with fsync on: for tests of what survives a crash. */
  durable?: boolean
}

const PORT_ATTEMPTS = 3

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const cluster = await createCluster(options.durable === true)
  try {
    return await startOnFreePort(cluster, options)
  } catch (error) {
    removeCluster(cluster)
    throw error
  }
}

/** Another process may take the port between our look and the server's bind: then try another. */
async function startOnFreePort(cluster: PostgresCluster, options: PostgresOptions): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt++) {
    const server = new PostgresServer(cluster, await findFreePort(), options)
    try {
      await server.start()
      return server
    } catch (error) {
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}

export class PostgresServer {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly #cluster: PostgresCluster
  readonly #settings: readonly string[]
  #process: PostgresProcess | undefined
  #wasKilled = false

  constructor(cluster: PostgresCluster, port: number, { durable = false }: PostgresOptions) {
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    this.port = port
    this.dataDir = cluster.dataDir
    this.#cluster = cluster
    this.#settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=200',
      'autovacuum=on',
      // The default leaves segments in /dev/shm behind when the server is killed; these are files in the data folder.
      'dynamic_shared_memory_type=mmap',
      ...(durable ? ['max_wal_size=8GB'] : ['fsync=off', 'full_page_writes=off', 'max_wal_size=2GB']),
    ]
  }

  /** The server's first process, while any of its processes runs. */
  get pid(): number | undefined {
    return this.#process?.hasEnded ? undefined : this.#process?.pid
  }

  async start(): Promise<void> {
    if (this.pid) return
    const server = new PostgresProcess(this.#cluster, this.#settings)
    this.#process = server
    try {
      await until(() => server.hasEnded || this.#answers(), { what: 'PostgreSQL to accept connections' })
      if (server.hasEnded) throw new Error('PostgreSQL ended while it was starting')
    } catch (cause) {
      await this.stop('immediate')
      throw new Error(`PostgreSQL did not start on port ${this.port}. Its log:\n${endOfLog(this.#cluster)}`, { cause })
    }
    this.#wasKilled = false
  }

  /** 'fast' ends the sessions and writes a checkpoint; 'immediate' drops everything, and the next start recovers. */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#process?.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  }

  /** SIGKILL, as when memory runs out. Waits for the sessions too, which end when they next look up from their work. */
  async kill(): Promise<void> {
    if (this.pid) this.#wasKilled = true
    await this.#process?.end('SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A killed server leaves a shared memory segment in the kernel for ever; its next life finds and frees it.
    if (this.#wasKilled) await this.start()
    await this.stop('immediate')
    removeCluster(this.#cluster)
  }

  /** Whether this server answers on the port, and not another that was quicker to take it. */
  async #answers(): Promise<boolean> {
    const client = new Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {}) // The connection was lost, which the query tells as well.
    try {
      await client.connect()
      const { rows } = await client.query(`select current_setting('data_directory') as folder`)
      return rows[0]?.folder === this.dataDir
    } catch {
      return false // not yet
    } finally {
      await client.end().catch(() => {}) // It never connected: nothing to end.
    }
  }
}
