import type { StoreEngine } from '../engine.ts'
import { sqliteOperator } from './operator.ts'
import { sqlitePath } from './path.ts'
import { openSqlite } from './store.ts'

export const sqliteEngine: StoreEngine = {
  name: 'sqlite',
  async open(address, { options, rowCacheBytes }) {
    const path = sqlitePath(address)
    const durability = options.oneOf('durability', ['full', 'process'], 'full')
    const busyTimeoutMs = options.duration('busyTimeout', 10_000)
    options.done()
    const ownFile = address.namespace !== 'default'
    return await openSqlite({ path, durability, busyTimeoutMs, ownFile, rowCacheBytes })
  },
  operator: address => sqliteOperator(sqlitePath(address)),
}
