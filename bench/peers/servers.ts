import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../../testing/folders.ts'
import { findNats } from '../../testing/nats-binary.ts'
import { startNats } from '../../testing/nats-server.ts'
import { startPostgres } from '../../testing/postgres-server.ts'
import type { BackendName } from './entrants.ts'
import { redisVersion, startRedis } from './redis-server.ts'

/** A server or folder for one turn: nobody finds what another has left. */
export type Backend = AsyncDisposable & {
  /** A path for SQLite, a port for Redis, a URL for the others. */
  readonly address: string
  /** The first process of the server; null where there is none. */
  readonly pid: number | null
  readonly version: string
}

export type BackendKind = { start(): Promise<Backend> } | { readonly missing: string }

/** What can be started here. What can't says why. */
export function backendKinds(): { readonly [name in BackendName]: BackendKind } {
  return { sqlite: sqlite(), postgres: postgres(), redis: redis(), nats: nats() }
}

function sqlite(): BackendKind {
  return {
    async start() {
      const folder = temporaryFolder()
      const end = async (): Promise<void> => folder[Symbol.dispose]()
      const version = process.versions.sqlite ?? ''
      return { address: join(folder.path, 'peer.db'), pid: null, version, [Symbol.asyncDispose]: end }
    },
  }
}

function postgres(): BackendKind {
  return {
    async start() {
      // 64 groups have a connection each, with some of the libraries more.
      const server = await startPostgres({ durable: true, settings: ['max_connections=500'] })
      const end = async (): Promise<void> => await server[Symbol.asyncDispose]()
      const version = versionOf(server.binaries.postgres)
      return { address: server.url, pid: server.pid ?? null, version, [Symbol.asyncDispose]: end }
    },
  }
}

function redis(): BackendKind {
  const version = redisVersion()
  if (version === undefined) return { missing: 'there is no redis-server here (a package of that name)' }
  return {
    async start() {
      const server = await startRedis()
      const end = async (): Promise<void> => await server[Symbol.asyncDispose]()
      return { address: String(server.port), pid: server.pid, version, [Symbol.asyncDispose]: end }
    },
  }
}

function nats(): BackendKind {
  const program = findNats()
  if (program === undefined) return { missing: 'there is no nats-server 2.12 or later here, and none could be fetched' }
  return {
    async start() {
      const server = await startNats({ syncAlways: true })
      const end = async (): Promise<void> => await server[Symbol.asyncDispose]()
      const version = versionOf(program)
      return { address: server.url, pid: server.nodes[0]?.pid ?? null, version, [Symbol.asyncDispose]: end }
    },
  }
}

function versionOf(program: string): string {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return /\d[\d.]*/.exec(stdout)?.[0] ?? 'of an unknown version'
}

/** Of the process and those it has started, in MB; what they share is counted once. Null where /proc doesn't tell. */
export function memoryOf(pid: number): number | null {
  if (!existsSync('/proc/self/smaps_rollup')) return null
  const kilobytes = [pid, ...childrenOf(pid)].map(each => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${each}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
    } catch {
      return 0 // It has just ended.
    }
  })
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1_024
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}
