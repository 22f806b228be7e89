import { type Script, spawnScript } from '../../../testing/processes.ts'
import type { PublishReport } from './messages.ts'
import { Series } from './series.ts'

/** A foreign workload on the same server, in a process of its own. */
export class OltpWorkload implements AsyncDisposable {
  readonly durations = new Series()
  readonly started: Promise<void>
  readonly #script: Script
  #done = 0

  constructor(work: { readonly url: string; readonly perSecond: number }) {
    this.#script = spawnScript(new URL('../scripts/oltp.ts', import.meta.url), [JSON.stringify(work)])
    const started = Promise.withResolvers<void>()
    this.started = started.promise
    this.started.catch(() => {}) // Whoever waits for it gets the error.
    this.#script.onMessage(message => {
      if ('started' in (message as object)) started.resolve()
      else this.#note(message as PublishReport)
    })
    void this.#script.exited.then(() =>
      started.reject(new Error(`The workload ended:\n${this.#script.errorLines.join('\n')}`)),
    )
  }

  get transactions(): number {
    return this.#done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script[Symbol.asyncDispose]()
  }

  #note({ published, durations }: PublishReport): void {
    this.#done = published
    this.durations.add(durations)
  }
}
