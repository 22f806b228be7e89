import { open } from 'tidemark'
import { consumeAll } from '../../topics/consume-all.ts'
import type { Order } from '../../topics/payloads.ts'
import type { Contender } from '../contender.ts'

/** Topics that nobody has subscribed to yet would be warned of. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

export async function openTidemark(url: string): Promise<Contender> {
  const tidemark = await open(url, { logger: SILENT })
  const groups = new Map<string, number>()
  return {
    name: 'Tidemark',
    version: '',
    async prepare(topic, names) {
      await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
      groups.set(topic, names.length)
    },
    async publishBatch(topic, payloads) {
      await tidemark.publishBatch(topic, payloads)
    },
    async publish(topic, payload) {
      await tidemark.publish(topic, payload)
    },
    async drain(topic, messages) {
      await consumeAll(tidemark, { topic, messages, groups: groups.get(topic) ?? 1 })
    },
    async listen(topic, handle) {
      const group = tidemark.consumerGroup<Order>(topic, 'listener')
      await group.addConsumer('consumer', ({ payload }) => handle(payload)).start({ from: 'now' })
      return group
    },
    [Symbol.asyncDispose]: async () => await tidemark.close(),
  }
}
