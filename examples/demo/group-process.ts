import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

type Report = { readonly handled: number; readonly again: boolean }

/** A group's worker process, and what it told of its work. */
export class GroupProcess {
  readonly name: string
  readonly handled = new Set<number>()
  again = 0
  state: 'starting' | 'running' | 'killed' | 'stopped' = 'starting'
  readonly #args: string[]
  #child: ChildProcess | undefined

  constructor(url: string, name: string, { ms, failures }: { ms: number; failures: number }) {
    this.name = name
    this.#args = [url, name, String(ms), String(failures)]
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Resolves when its consumers run. */
  async start(): Promise<void> {
    // Its warnings about taken-over leases are the demonstration's own subject; the screen shows them.
    const child = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), this.#args, {
      execArgv: process.execArgv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child = child
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', code => reject(new Error(`the worker of ${this.name} ended with code ${code}`)))
      child.on('message', (message: 'ready' | Report) => {
        if (message === 'ready') resolve()
        else this.#count(message)
      })
    })
    this.state = 'running'
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
    this.state = 'killed'
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect')])
    child.kill('SIGTERM')
    await ended
    this.state = 'stopped'
  }

  #count({ handled, again }: Report): void {
    this.handled.add(handled)
    if (again) this.again++
  }
}
