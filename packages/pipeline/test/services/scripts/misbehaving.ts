/** A service that ends its thread, hangs it, fails, or reports, as its option says. */
import { choice, defineServiceType, Service, type ServiceBuild, type ServiceContext } from '@tidemark/pipeline'

const WAYS = ['exit', 'hang', 'freeze', 'throw', 'fail-start', 'uncaught', 'report', 'log'] as const
type Way = (typeof WAYS)[number]

class Misbehaving extends Service {
  readonly #way: Way

  constructor({ name, options, logger }: ServiceBuild<{ readonly way: Way }>) {
    super(name, logger)
    this.#way = options.way
  }

  protected override async prepare(): Promise<void> {
    if (this.#way === 'fail-start') throw new RangeError('it does not want to start')
  }

  protected override async run({ signal, report }: ServiceContext): Promise<void> {
    // Later than the word that it has started, which an exit at once would lose.
    if (this.#way === 'exit') setTimeout(() => process.exit(7), 100)
    // Longer than a thread may be silent, and then it goes on.
    if (this.#way === 'freeze')
      setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 11_000), 100)
    if (this.#way === 'throw') throw new RangeError('it broke in the thread')
    if (this.#way === 'uncaught') setImmediate(() => Promise.reject(new RangeError('nobody caught it')))
    if (this.#way === 'report') report('a small thing', new RangeError('it goes on'))
    if (this.#way === 'log') this.logger.warn({ detail: 7 }, 'a line from the thread')
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    // Not even the event loop turns any more.
    while (this.#way === 'hang');
  }

  protected override metrics(): Record<string, number> {
    return { isHere: 1 }
  }
}

export default defineServiceType({
  says: 'Does what it should not.',
  options: { way: choice(WAYS, { says: 'How.', default: 'exit' }) },
  bindings: {},
  create: build => new Misbehaving(build),
})
