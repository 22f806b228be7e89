/**
 * Real NATS servers with JetStream on loopback, for tests: one node, or a cluster of three.
 *
 *   startNats() ──▶ running ──kill() or pause() of a node──▶ … ──start() or resume()──▶ running, same port and data
 *                      └──────────────disposal──────────────────▶ gone, and the folder with it
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './folders.ts'
import { findFreePort } from './free-port.ts'
import { findNats } from './nats-binary.ts'
import { until } from './until.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

export type NatsOptions = {
  readonly nodes?: 1 | 3
  /** The disk is synced before each acknowledgement, as docs/jetstream.md asks for. */
  readonly syncAlways?: boolean
  /** The server to run (default: one that is new enough). */
  readonly program?: string | undefined
  /** More lines of the configuration file. */
  readonly settings?: string
}

export type NatsCluster = AsyncDisposable & {
  /** Address for `open()`. */
  readonly url: string
  readonly nodes: readonly NatsNode[]
}

export async function startNats({
  nodes = 1,
  program = findNats(),
  ...options
}: NatsOptions = {}): Promise<NatsCluster> {
  if (program === undefined) throw new Error('There is no nats-server to run; ask skipWithoutNats() first')
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(nodes, program, options)
    } catch (error) {
      // Nine ports that were free a moment ago: somebody else may have been faster.
      if (!(error instanceof PortTaken) || attempt === MOST_ATTEMPTS) throw error
    }
  }
}

const MOST_ATTEMPTS = 3

class PortTaken extends Error {}

type MoreOptions = Omit<NatsOptions, 'nodes' | 'program'>

async function startOnce(nodes: number, program: string, options: MoreOptions): Promise<NatsCluster> {
  const folder = temporaryFolder()
  const places = await Promise.all(
    Array.from({ length: nodes }, async (_, n) => ({
      name: `n${n + 1}`,
      port: await findFreePort(),
      route: await findFreePort(),
      monitor: await findFreePort(),
    })),
  )
  const routes = places.map(({ route }) => `nats-route://127.0.0.1:${route}`)
  const all = places.map(place => new NatsNode(program, folder.path, place, { ...options, routes }))
  const end = async (): Promise<void> => {
    await Promise.all(all.map(node => node.kill()))
    folder[Symbol.dispose]()
  }
  try {
    await Promise.all(all.map(node => node.start()))
  } catch (error) {
    await end()
    throw error
  }
  return {
    url: `nats://${places.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes: all,
    [Symbol.asyncDispose]: end,
  }
}

type Place = { readonly name: string; readonly port: number; readonly route: number; readonly monitor: number }

class NatsNode {
  readonly name: string
  readonly port: number
  readonly #program: string
  readonly #config: string
  readonly #lines: readonly string[]
  readonly #log: string
  readonly #monitor: number
  #process: ChildProcess | undefined

  constructor(
    program: string,
    folder: string,
    { name, port, route, monitor }: Place,
    { routes, syncAlways, settings = '' }: MoreOptions & { readonly routes: readonly string[] },
  ) {
    this.name = name
    this.port = port
    this.#program = program
    this.#monitor = monitor
    this.#config = join(folder, `${name}.conf`)
    this.#log = join(folder, `${name}.log`)
    const sync = syncAlways ? ', sync_interval: always' : ''
    const cluster = `cluster { name: tidemark, listen: "127.0.0.1:${route}", routes: [${routes.join(', ')}] }`
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${port}"`,
      `http: "127.0.0.1:${monitor}"`,
      `jetstream { store_dir: ${JSON.stringify(join(folder, name))}, max_file_store: 8GB, max_memory_store: 256MB${sync} }`,
      ...(routes.length > 1 ? [cluster] : []),
    ]
    this.#lines = lines
    writeFileSync(this.#config, [...lines, settings].join('\n'))
  }

  /** Replaces the `settings` while it runs. */
  reload(settings: string): void {
    writeFileSync(this.#config, [...this.#lines, settings].join('\n'))
    this.#process?.kill('SIGHUP')
  }

  /** While it runs. */
  get pid(): number | undefined {
    const { exitCode, signalCode, pid } = this.#process ?? {}
    return exitCode == null && signalCode == null ? pid : undefined
  }

  async start(): Promise<void> {
    if (this.pid !== undefined) return
    const log = openSync(this.#log, 'a')
    const server = spawn(this.#program, ['-c', this.#config], { stdio: ['ignore', log, log] })
    this.#process = server
    if (server.pid !== undefined) watchProcess(server.pid, 'SIGKILL')
    await until(() => this.pid === undefined || this.#isHealthy(), { what: `${this.name} to be healthy` })
    if (this.pid !== undefined) return
    const end = readFileSync(this.#log, 'utf8').slice(-2_000)
    const Failure = end.includes('address already in use') ? PortTaken : Error
    throw new Failure(`nats-server ended:\n${end}`)
  }

  /** SIGKILL, as when memory runs out. */
  async kill(): Promise<void> {
    const { pid } = this
    if (this.#process === undefined || pid === undefined) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
    unwatchProcess(pid)
  }

  /** Stops it in the middle of whatever it does. */
  pause(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }

  async #isHealthy(): Promise<boolean> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.#monitor}/healthz`, { signal: AbortSignal.timeout(2_000) })
      await answer.body?.cancel()
      return answer.ok
    } catch {
      return false // not yet
    }
  }
}
