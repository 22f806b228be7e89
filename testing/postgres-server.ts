/**
 * A real PostgreSQL server in a folder of its own, for tests.
 *
 *   startPostgres() ──▶ running ──stop() or kill()──▶ stopped ──start()──▶ running, same port and data
 *                          └────────────disposal─────────┴──▶ gone, and its folder with it
 */
import { appendFileSync, chownSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { findFreePort } from './free-port.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import {
  type ClusterOptions,
  createCluster,
  endOfLog,
  type PostgresCluster,
  removeCluster,
} from './postgres-cluster.ts'
import { PostgresProcess } from './postgres-process.ts'
import { copyFolder } from './shared-cluster.ts'
import { until } from './until.ts'

/** `durable` is also with fsync on: for tests of what survives a crash. */
export type PostgresOptions = ClusterOptions & {
  /** More of them, as 'name=value'. */
  settings?: readonly string[]
}

const PORT_ATTEMPTS = 3

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const cluster = await createCluster(options)
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
  readonly #options: PostgresOptions
  readonly #settings: readonly string[]
  #process: PostgresProcess | undefined
  #wasKilled = false

  constructor(cluster: PostgresCluster, port: number, options: PostgresOptions) {
    const { durable = false, settings = [] } = options
    this.#options = options
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
      ...settings,
    ]
  }

  get binaries(): PostgresBinaries {
    const { initdb, postgres, account } = this.#cluster
    return { initdb, postgres, account }
  }

  /** A copy of its data folder, which it must not run on: to come back to, or for another server to start with. */
  async copyData(name: string): Promise<string> {
    const copy = join(dirname(this.dataDir), name)
    await copyFolder(this.dataDir, copy)
    return copy
  }

  /** The folder goes, and a copy of it takes its place. */
  async restoreData(copy: string): Promise<void> {
    rmSync(this.dataDir, { recursive: true })
    await copyFolder(copy, this.dataDir)
  }

  /** A replica of this server, which runs: made from a copy of its files, it follows once it is started. */
  async replica(name: string, port: number): Promise<PostgresServer> {
    const client = new Client({ connectionString: this.url })
    client.on('error', () => {}) // The query that it interrupts tells the same.
    await client.connect()
    await client.query("select pg_backup_start('replica', true)")
    const dataDir = await this.copyData(name)
    const { rows } = await client.query<{ label: string }>('select labelfile as label from pg_backup_stop()')
    await client.end()
    const cluster = { ...this.#cluster, dataDir }
    const write = (file: string, text: string): void => {
      const { uid, gid } = cluster.account
      appendFileSync(join(dataDir, file), text)
      if (uid !== undefined && gid !== undefined) chownSync(join(dataDir, file), uid, gid)
    }
    rmSync(join(dataDir, 'postmaster.pid'), { force: true })
    write('backup_label', rows[0]?.label ?? '')
    write('standby.signal', '')
    write('postgresql.auto.conf', `primary_conninfo = 'host=127.0.0.1 port=${this.port} user=postgres'\n`)
    return new PostgresServer(cluster, port, this.#options)
  }

  /** The same data on another port; to be started when nobody else has either. */
  movedTo(port: number): PostgresServer {
    return new PostgresServer(this.#cluster, port, this.#options)
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
