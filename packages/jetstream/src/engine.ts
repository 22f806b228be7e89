import type { StoreEngine } from 'tidemark/store'
import { parseAddress } from './nats/address.ts'
import { openJetStream } from './store.ts'

export const jetStreamEngine: StoreEngine = {
  name: 'jetstream',
  async open(address, { options, rowCacheBytes, logger }) {
    const replicas = options.integer('replicas', 1, { min: 1, max: 5 })
    const timeoutMs = options.duration('requestTimeout', 5_000, { min: 100 })
    options.done()
    const { namespace } = address
    return await openJetStream({
      address: parseAddress(address),
      namespace,
      replicas,
      timeoutMs,
      rowCacheBytes,
      logger,
    })
  },
}
