import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../../topics/engines/postgres-client.ts'
import { monotonicMs } from '../../topics/monotonic.ts'
import { Series } from '../load/series.ts'

const EVERY_MS = 20

/** A bare insert into a plain table now and then: what the server and the machine take at that moment, without Tidemark. */
export class InsertProbe implements AsyncDisposable {
  readonly durations = new Series()
  readonly #ended: Promise<void>
  #isStopping = false

  constructor(url: string) {
    this.#ended = this.#run(url)
    this.#ended.catch(() => {}) // Told when it is disposed of.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true
    await this.#ended.catch(() => {}) // The server may have been ended before.
  }

  async #run(url: string): Promise<void> {
    const client = await connect(url)
    client.on('error', () => {})
    await client.query('create table if not exists insert_probe (id bigint generated always as identity, note text)')
    while (!this.#isStopping) {
      const started = monotonicMs()
      await client.query({ name: 'probe', text: 'insert into insert_probe (note) values ($1)', values: ['a bare row'] })
      this.durations.add([monotonicMs() - started])
      await delay(EVERY_MS)
    }
    await client.end()
  }
}
