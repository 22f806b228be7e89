import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { temporaryFolder } from '../../testing/folders.ts'
import { findFreePort } from '../../testing/free-port.ts'
import { until } from '../../testing/until.ts'

export type RedisServer = AsyncDisposable & { readonly port: number; readonly pid: number | null }

/** undefined where there is none to be started. */
export function redisVersion(): string | undefined {
  const { stdout, status } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return status === 0 ? (/v=([\d.]+)/.exec(stdout)?.[1] ?? 'of an unknown version') : undefined
}

/** On loopback, and as durable as the others: what it has acknowledged is on the disk. */
export async function startRedis(): Promise<RedisServer> {
  const folder = temporaryFolder()
  const port = await findFreePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: folder.path,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const server = spawn('redis-server', args, { stdio: 'ignore' })
  await until(() => answers(port), { what: 'the Redis server to answer' })
  return {
    port,
    pid: server.pid ?? null,
    async [Symbol.asyncDispose]() {
      await stop(server)
      folder[Symbol.dispose]()
    },
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false)
  socket.destroy()
  return isOpen
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  server.kill('SIGTERM')
  await once(server, 'exit')
}
