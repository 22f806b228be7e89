import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

export type ScriptOptions = {
  /** Added to this process's environment; undefined removes a variable. */
  env?: Record<string, string | undefined>
  cwd?: string
  /** More flags for node. */
  nodeFlags?: readonly string[]
}

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** Runs a file in a separate process, with the same import conditions as this one. */
export function startScript(file: URL | string, args: readonly string[] = [], options: ScriptOptions = {}): Script {
  const path = file instanceof URL ? fileURLToPath(file) : file
  const conditions = process.execArgv.filter(flag => flag.startsWith('--conditions'))
  const flags = [...conditions, '--disable-warning=ExperimentalWarning', ...(options.nodeFlags ?? [])]
  const child = spawn(process.execPath, [...flags, path, ...args], {
    cwd: options.cwd,
    // Node's test runner marks its children with NODE_TEST_CONTEXT, and this is none of them.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  return new Script(path, child)
}

export class Script {
  readonly pid: number
  /** What it has written to standard output so far. */
  readonly lines: readonly string[]
  /** What it has written to standard error so far. */
  readonly errorLines: readonly string[]
  /** What it has sent with process.send() so far. */
  readonly messages: readonly unknown[]
  /** Resolves when it has ended and all its output was read. */
  readonly exited: Promise<Exit>
  readonly #path: string
  readonly #child: ChildProcess
  #hasExited = false

  constructor(path: string, child: ChildProcess) {
    const { pid } = child
    // The child also emits an 'error' with the cause, which fails the test.
    if (pid === undefined) throw new Error(`${path} could not be started`)
    this.pid = pid
    this.#path = path
    this.#child = child
    this.lines = collectLines(child.stdout)
    this.errorLines = collectLines(child.stderr)
    this.messages = collectMessages(child)
    this.exited = new Promise(resolve => {
      child.once('close', (code, signal) => {
        this.#hasExited = true
        resolve({ code, signal })
      })
    })
  }

  /** The first line of standard output that matches, past or future. Fails at once if the script ends without it. */
  async waitForLine(pattern: RegExp | string, timeout?: number): Promise<string> {
    const wanted = `a line that has ${pattern} from ${this.#path}`
    const condition = () => {
      const line = this.lines.find(line => (typeof pattern === 'string' ? line.includes(pattern) : pattern.test(line)))
      if (line === undefined && this.#hasExited) throw new Error(`The process ended without ${wanted}`)
      return line !== undefined && { line }
    }
    try {
      const { line } = await until(condition, { what: wanted, ...(timeout !== undefined && { timeout }) })
      return line
    } catch (cause) {
      throw new Error([`${(cause as Error).message}. Its standard error:`, ...this.errorLines].join('\n'), { cause })
    }
  }

  /** Listens to what it sends from now on. */
  onMessage(listener: (message: unknown) => void): void {
    this.#child.on('message', listener)
  }

  /** Received by the script as process.on('message'); lost if the script has ended. */
  send(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => {}) // It may end on the way there.
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    this.#child.kill(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL')
    await this.exited
  }
}

function collectLines(stream: Readable | null): string[] {
  const lines: string[] = []
  if (stream) createInterface({ input: stream }).on('line', line => lines.push(line))
  return lines
}

function collectMessages(child: ChildProcess): unknown[] {
  const messages: unknown[] = []
  child.on('message', message => messages.push(message))
  return messages
}
