/** A service that has everything and does nothing. */
import { defineServiceType, Service, type ServiceContext } from '@tidemark/pipeline'

class Idle extends Service {
  protected override async run({ signal }: ServiceContext): Promise<void> {
    if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  }
}

export default defineServiceType({
  says: 'Does nothing.',
  options: {},
  bindings: {
    out: { kind: 'topic-write', says: 'Gets nothing.' },
    storage: { kind: 'storage-read', says: 'Is not read.' },
    index: { kind: 'index', says: 'Is not written.' },
  },
  create: ({ name, logger }) => new Idle(name, logger),
})
