import { addressError } from '../address.ts'
import type { StoreAddress, StoreEngine } from '../engine.ts'
import { postgresOperator } from './operator.ts'
import { openPostgres } from './store.ts'

export const postgresEngine: StoreEngine = {
  name: 'postgres',
  async open(address, { options, rowCacheBytes, logger }) {
    const url = checkedUrl(address)
    const poolSize = options.integer('poolSize', 10, { min: 2, max: 1_000 })
    const statementTimeoutMs = options.duration('statementTimeout', 30_000, { min: 100 })
    options.done()
    return await openPostgres({
      url,
      namespace: address.namespace,
      poolSize,
      statementTimeoutMs,
      rowCacheBytes,
      logger,
    })
  },
  operator: address => postgresOperator(checkedUrl(address), address.namespace),
}

function checkedUrl({ option, url }: StoreAddress): string {
  if (!/^postgres(ql)?:\/\//.test(url)) throw addressError(option, url)
  return url
}
