import type { StoreEngine } from 'tidemark/store'
import { parseAddress } from './nats/address.ts'
import { jetStreamOperator } from './operator.ts'
import { openJetStream } from './store.ts'

export const jetStreamEngine: StoreEngine = {
  name: 'jetstream',
  async open(address, { options, rowCacheBytes, logger }) {
    const parsed = parseAddress(address)
    const replicas = options.integer('replicas', parsed.replicas ?? 1, { min: 1, max: 5 })
    const timeoutMs = options.duration('requestTimeout', 5_000, { min: 100 })
    options.done()
    const { namespace } = address
    return await openJetStream({
      address: parsed,
      namespace,
      replicas,
      timeoutMs,
      rowCacheBytes,
      logger,
    })
  },
  operator: jetStreamOperator,
}
