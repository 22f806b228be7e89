import { type Script, spawnScript } from '../../../testing/processes.ts'
import type { PublishReport, PublishWork } from './messages.ts'
import { Series } from './series.ts'

/** A process that publishes at a fixed rate. */
export class Publisher implements AsyncDisposable {
  readonly durations = new Series()
  readonly lateness = new Series()
  /** Its first messages are stored. */
  readonly started: Promise<void>
  readonly #script: Script
  #last: PublishReport = { published: 0, durations: [], lateMs: 0 }

  constructor(work: PublishWork) {
    this.#script = spawnScript(new URL('../scripts/publish.ts', import.meta.url), [JSON.stringify(work)])
    const started = Promise.withResolvers<void>()
    this.started = started.promise
    this.started.catch(() => {}) // Whoever waits for it gets the error.
    this.#script.onMessage(message => {
      this.#last = message as PublishReport
      if (this.#last.published > 0) started.resolve()
      this.durations.add(this.#last.durations)
      this.lateness.add([this.#last.lateMs])
    })
    void this.#script.exited.then(() => {
      started.reject(new Error(`A publisher ended before its first message:\n${this.#script.errorLines.join('\n')}`))
    })
  }

  get published(): number {
    return this.#last.published
  }

  /** How far it is behind its schedule now. */
  get lateMs(): number {
    return this.#last.lateMs
  }

  setRate(perSecond: number): void {
    this.#script.send({ perSecond })
  }

  /** Gives the number of messages it has published. */
  async stop(): Promise<number> {
    this.#script.send({ stop: true })
    const { code, signal } = await this.#script.exited
    if (code !== 0) throw new Error(`A publisher ended with ${code ?? signal}:\n${this.#script.errorLines.join('\n')}`)
    return this.published
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script[Symbol.asyncDispose]()
  }
}
