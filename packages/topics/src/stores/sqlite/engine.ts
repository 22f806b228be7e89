import type { StoreAddress, StoreEngine } from '../engine.ts'
import type { SqliteDriver } from './driver.ts'
import { sqliteOperator } from './operator.ts'
import { sqlitePath } from './path.ts'
import { openSqlite } from './store.ts'

export const sqliteEngine: StoreEngine = {
  name: 'sqlite',
  async open(address, { options, rowCacheBytes }) {
    const path = sqlitePath(address)
    const driver = driverOf(address)
    const durability = options.oneOf('durability', ['full', 'process'], 'full')
    const busyTimeoutMs = options.duration('busyTimeout', 10_000)
    options.done()
    const ownFile = address.namespace !== 'default'
    return await openSqlite({ ...(driver && { driver }), path, durability, busyTimeoutMs, ownFile, rowCacheBytes })
  },
  operator: address => sqliteOperator(sqlitePath(address), driverOf(address)),
}

const driverOf = ({ driver }: StoreAddress): SqliteDriver | undefined =>
  driver?.engine === 'sqlite' ? driver : undefined
