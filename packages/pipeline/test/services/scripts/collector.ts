/** A service type as a user would write one: takes ticks from a queue and writes their numbers down. */
import { appendFileSync } from 'node:fs'
import {
  defineServiceType,
  type EncodedTick,
  Service,
  type ServiceBuild,
  type ServiceContext,
  text,
} from '@tidemark/pipeline'

class Collector extends Service {
  readonly #ticks
  readonly #file: string
  #taken = 0

  constructor({ name, options, resources, logger }: ServiceBuild<{ readonly file: string }>) {
    super(name, logger)
    this.#ticks = resources.queue<EncodedTick>('ticks')
    this.#file = options.file
  }

  protected override async run({ signal, unpaused }: ServiceContext): Promise<void> {
    while (!signal.aborted) {
      await unpaused()
      this.#write(await this.#ticks.drain(100, { timeout: 20, signal }))
    }
    this.#write(await this.#ticks.drain(1_000_000, { timeout: 0 }))
  }

  protected override metrics(): Record<string, number> {
    return { taken: this.#taken }
  }

  #write(ticks: readonly EncodedTick[]): void {
    this.#taken += ticks.length
    for (const { runId, tick, bytes } of ticks) appendFileSync(this.#file, `${runId} ${tick} ${bytes.length}\n`)
  }
}

export default defineServiceType({
  says: 'Writes down which ticks it took.',
  options: { file: text({ says: 'Where to.', required: true }) },
  bindings: { ticks: { kind: 'queue-in', says: 'Taken from.' } },
  create: build => new Collector(build),
})
