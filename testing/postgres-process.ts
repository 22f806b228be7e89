import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { PostgresCluster } from './postgres-cluster.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

/** One life of a server, from its start to the end of the last of its processes. Never keeps this process alive. */
export class PostgresProcess {
  readonly pid: number | undefined
  readonly #child: ChildProcess
  readonly #lifeline: Socket
  readonly #ended = Promise.withResolvers<void>()
  #hasEnded = false

  constructor({ postgres, account, dataDir, logFile }: PostgresCluster, settings: readonly string[]) {
    const log = openSync(logFile, 'a')
    const flags = settings.flatMap(setting => ['-c', setting])
    this.#child = spawn(postgres, ['-D', dataDir, ...flags], {
      ...account,
      cwd: dataDir,
      detached: true, // Ctrl-C is for the tests; they still need the server to clear up.
      // The last is a pipe that nobody reads or writes. Every server process inherits it, so that it closes, and with
      // it the child, when the last one is gone. A killed server's sessions outlive it for a moment, and bar its restart.
      stdio: ['ignore', log, log, 'pipe'],
    })
    closeSync(log)
    this.#lifeline = this.#child.stdio[3] as Socket
    this.pid = this.#child.pid
    if (this.pid) watchProcess(this.pid, 'SIGQUIT')
    this.#child.once('error', () => this.#end()) // It could not even be spawned; the caller sees that it has ended.
    this.#child.once('close', () => this.#end())
    this.#child.unref()
    this.#lifeline.unref()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.ref()
    this.#lifeline.ref()
    this.#child.kill(signal)
    await this.#ended.promise
  }

  #end(): void {
    if (this.pid) unwatchProcess(this.pid)
    this.#hasEnded = true
    this.#ended.resolve()
  }
}
