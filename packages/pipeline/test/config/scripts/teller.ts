/** A service type as a user would write one: passes on what it hears, through a reader and a writer of its bindings. */
import { defineServiceType, runId, Service, type ServiceBuild, type ServiceContext, whole } from '@tidemark/pipeline'
import { ConfigError } from 'tidemark'

type Options = { readonly runId?: string; readonly times: number }

class Teller extends Service {
  readonly #build: ServiceBuild<Options>

  constructor(build: ServiceBuild<Options>) {
    super(build.name, build.logger)
    this.#build = build
  }

  protected override async run({ signal, through }: ServiceContext): Promise<void> {
    const { options, resources } = this.#build
    if (!resources.has('heard')) return
    const writer = resources.writer<object>('told')
    await using reader = resources.reader<object>('heard')
    while (!signal.aborted) {
      const delivery = await through('listen', () => reader.poll(100))
      if (delivery === null) continue
      const told = { ...delivery.payload, runId: options.runId }
      for (let time = 0; time < options.times; time++) await through('tell', () => writer.send(told))
      await delivery.ack()
    }
  }
}

export default defineServiceType({
  says: 'Passes on what it hears.',
  options: {
    runId: runId({ says: 'The run that it adds.' }),
    times: whole({ says: 'How often it tells.', min: 1, default: 1 }),
  },
  bindings: {
    heard: { kind: 'topic-read', says: 'What it hears.', optional: true },
    told: { kind: 'topic-write', says: 'What it tells.' },
    ticks: { kind: 'queue-out', says: 'Never filled.', optional: true },
  },
  check({ path, options, bindings }) {
    if (options.times > 1 && bindings.heard === undefined) {
      throw new ConfigError(`${path}.options.times`, options.times, '1 without a binding heard')
    }
  },
  create: build => new Teller(build),
})
