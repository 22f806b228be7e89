/** A service that says one thing on a topic. */
import { defineServiceType, Service } from '@tidemark/pipeline'

export default defineServiceType({
  says: 'Says hello.',
  options: {},
  bindings: { out: { kind: 'topic-write', says: 'Where to.' } },
  create({ name, resources, logger }) {
    const { tidemark, topic } = resources.topic('out')
    return new (class extends Service {
      protected override async run(): Promise<void> {
        await tidemark.publish(topic, 'hello')
      }
    })(name, logger)
  },
})
