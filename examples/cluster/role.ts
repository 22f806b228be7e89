/**
 * A machine of the cluster: one process of the command `tidemark`, with a folder and a log of its own.
 *
 *   start() ──▶ running ──kill()──▶ gone ──start()──▶ running ──stop()──▶ gone
 *                  └─ ends by itself: `failure()` says why, unless it had finished its work
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unwatchProcess, watchProcess } from '../../testing/watchdog.ts'
import { type Usage, usageOf } from './usage.ts'

const MAIN = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const NODE_FLAGS = ['--conditions=tidemark-source', '--disable-warning=ExperimentalWarning']
const LINES_OF_LOG = 15

export type RoleOptions = {
  readonly name: string
  /** Arguments of `tidemark`. */
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Folder of all machines; this one's is in it. */
  readonly parent: string
  /** Whether it ends when its work is done. */
  readonly endsItself?: boolean
}

export class Role {
  readonly name: string
  readonly folder: string
  readonly #options: RoleOptions
  #process: ChildProcess | undefined
  #isWanted = false
  #ofEarlierLives: Usage = { memoryBytes: 0, processorMs: 0 }
  #ofThisLife: Usage = { memoryBytes: 0, processorMs: 0 }

  constructor(options: RoleOptions) {
    this.name = options.name
    this.folder = join(options.parent, options.name.replaceAll(' ', '-'))
    this.#options = options
    mkdirSync(this.folder, { recursive: true })
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  get log(): string {
    return join(this.folder, 'log')
  }

  get isRunning(): boolean {
    const { exitCode, signalCode } = this.#process ?? { exitCode: 0, signalCode: null }
    return exitCode === null && signalCode === null
  }

  get hasFinished(): boolean {
    return this.#options.endsItself === true && this.#process?.exitCode === 0
  }

  start(): void {
    const log = openSync(this.log, 'a')
    const { args, environment } = this.#options
    const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, ...args], {
      cwd: this.folder,
      env: environment,
      detached: true, // Ctrl-C is for the demonstration, which then ends its roles.
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    const { pid } = child
    if (pid !== undefined) {
      watchProcess(pid, 'SIGKILL')
      child.once('exit', () => unwatchProcess(pid))
    }
    this.#process = child
    this.#isWanted = true
  }

  /** SIGKILL, as when the machine loses power. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** It may finish what it does. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Why it ended, if it should still run. */
  failure(): string | undefined {
    if (!this.#isWanted || this.isRunning || this.hasFinished) return undefined
    const { exitCode, signalCode } = this.#process ?? {}
    return `${this.name} ended with ${signalCode ?? `exit code ${exitCode}`}. The end of its log:\n${this.endOfLog()}`
  }

  endOfLog(): string {
    return readFileSync(this.log, 'utf8').trimEnd().split('\n').slice(-LINES_OF_LOG).join('\n')
  }

  /** Largest memory and processor time of all its lives, as far as they were looked at. */
  usage(): Usage {
    if (this.isRunning && this.pid !== undefined) this.#ofThisLife = usageOf(this.pid) ?? this.#ofThisLife
    const [before, now] = [this.#ofEarlierLives, this.#ofThisLife]
    return {
      memoryBytes: Math.max(before.memoryBytes, now.memoryBytes),
      processorMs: before.processorMs + now.processorMs,
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false
    const child = this.#process
    if (child === undefined || !this.isRunning) return
    this.#ofEarlierLives = this.usage()
    this.#ofThisLife = { memoryBytes: 0, processorMs: 0 }
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
