import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PipelineProgress } from '@tidemark/pipeline'
import { unwatchProcess, watchProcess } from '../../../testing/watchdog.ts'

const REPOSITORY = new URL('../../../', import.meta.url)

export type SeenProgress = PipelineProgress & { readonly at: number }

/** `npm start` as it is, with its own folder and settings. */
export class StartedPipeline implements AsyncDisposable {
  readonly seen: SeenProgress[] = []
  /** Address of its server. */
  readonly url: Promise<string>
  readonly #child
  readonly #ended: Promise<unknown>
  readonly #errors: string[] = []

  constructor(folder: string, settings: Readonly<Record<string, string>>) {
    const { scripts } = JSON.parse(readFileSync(new URL('package.json', REPOSITORY), 'utf8'))
    const [, ...args] = String(scripts.start).split(' ')
    const flags = ['--data', folder, '--json', '--no-demo', '--no-config', '--port', '0', '--max-disk', 'none']
    this.#child = spawn(process.execPath, [...args, ...flags], {
      cwd: fileURLToPath(REPOSITORY),
      env: { ...process.env, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // Ctrl-C is for the checkpoint, which ends it.
    })
    const { pid } = this.#child
    if (pid !== undefined) watchProcess(pid, 'SIGKILL')
    this.#ended = once(this.#child, 'exit').then(() => pid !== undefined && unwatchProcess(pid))
    const url = Promise.withResolvers<string>()
    this.url = url.promise
    this.url.catch(() => {}) // Whoever waits for it gets the error.
    createInterface({ input: this.#child.stderr }).on('line', line => this.#errors.push(line))
    createInterface({ input: this.#child.stdout }).on('line', line => {
      const told = JSON.parse(line)
      if (told.event === 'begun') url.resolve(told.url)
      if (told.event === 'progress') this.seen.push({ ...told, at: performance.now() })
    })
    void this.#ended.then(() => url.reject(new Error(`npm start ended:\n${this.#errors.join('\n')}`)))
  }

  get last(): SeenProgress | undefined {
    return this.seen.at(-1)
  }

  get errors(): readonly string[] {
    return this.#errors
  }

  async pause(service: string): Promise<void> {
    const response = await fetch(new URL(`/api/v1/pipeline/services/${service}/pause`, await this.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    if (!response.ok) throw new Error(`The service ${service} could not be paused: ${await response.text()}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGINT')
    const killing = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await this.#ended
    clearTimeout(killing)
  }
}
