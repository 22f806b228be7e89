/** The pipeline of a run: it is started again whenever it ends, whoever ended it. */
import { startProcess } from '../../../packages/pipeline/test/whole/world.ts'
import type { Script } from '../../processes.ts'
import { until } from '../../until.ts'
import type { PipelinePlace } from './pipeline-place.ts'

/** Many times what it takes, because the machine may have other work. */
const START_MS = 600_000
const AFTER_ERROR_MS = 500
const LINES = 8
const IS_RUNNING = /^run /

export class PipelineProcess implements AsyncDisposable {
  readonly #place: Pick<PipelinePlace, 'folder' | 'settings'>
  readonly #ended: string[] = []
  #script: Script | undefined
  #isClosing = false

  constructor(place: Pick<PipelinePlace, 'folder' | 'settings'>) {
    this.#place = place
    this.#start()
  }

  /** How it ended by itself, each time after it had started: whatever is away for a while, it must go on. */
  get ended(): readonly string[] {
    return this.#ended
  }

  async ready(signal: AbortSignal): Promise<void> {
    const isReady = (): boolean => {
      signal.throwIfAborted()
      return this.#script?.lines.some(line => IS_RUNNING.test(line)) ?? false
    }
    await until(isReady, { what: 'the pipeline to start', timeout: START_MS })
  }

  async restart(): Promise<void> {
    const script = this.#script
    this.#script = undefined
    await script?.[Symbol.asyncDispose]()
    if (this.#script === undefined) this.#start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await this.#script?.[Symbol.asyncDispose]()
  }

  #start(): void {
    if (this.#isClosing) return
    const script = startProcess(this.#place.folder, [], this.#place.settings)
    this.#script = script
    void script.exited.then(({ code, signal }) => {
      if (this.#script !== script || this.#isClosing) return
      // What was away when it started may keep it from starting.
      if (script.lines.some(line => IS_RUNNING.test(line))) {
        const lines = script.errorLines.slice(-LINES)
        this.#ended.push([`the pipeline ended with ${signal ?? `code ${code}`}`, ...lines].join('\n'))
      }
      this.#script = undefined
      setTimeout(() => this.#script === undefined && this.#start(), AFTER_ERROR_MS).unref()
    })
  }
}
