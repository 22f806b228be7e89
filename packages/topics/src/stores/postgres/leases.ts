import type { Leases } from '../leases.ts'
import type { SharedClaims } from './claim.ts'
import { listClaims, listHolders, releaseClaim } from './claims.ts'
import type { Database } from './database.ts'
import { unknownIfLost } from './database-errors.ts'
import { leaseSize, readReceiptKey } from './receipts.ts'
import { extend, settle } from './settle.ts'
import { listRetries } from './waiting-retries.ts'
import type { WakeUps } from './wake-ups.ts'

/**
 * The leases of one schema. Requests by token are a single statement; a token that it does not find is investigated.
 */
export function postgresLeases(database: Database, claims: SharedClaims, wakeUps: WakeUps): Leases {
  const written = <T>(writing: Promise<T>): Promise<T> =>
    writing.catch(error => {
      throw unknownIfLost(error, database.location)
    })
  return {
    claim: request => claims.claim(request),
    settle: async settlements => {
      const results = await written(settle(database, settlements, topicId => wakeUps.send(topicId)))
      // The lease was lost or forgotten, or the namespace is gone.
      if (results.some(({ stale }) => stale.length > 0)) await database.requireNamespace()
      return results
    },
    extend: async (token, ms) => {
      const isExtended = await written(extend(database, token, ms))
      if (!isExtended) await database.requireNamespace()
      return isExtended
    },
    size: async token => {
      const size = await leaseSize(database, token)
      if (size === undefined) await database.requireNamespace()
      return size
    },
    list: (topic, query) => database.read({ topic }, tx => listClaims(tx, topic, query)),
    holders: (topic, subscription) => database.read({ topic, subscription }, tx => listHolders(tx, subscription)),
    release: (topic, token) => database.transaction({ topic }, tx => releaseClaim(tx, topic, token)),
    retries: (topic, subscription, query) =>
      database.read({ topic, subscription }, tx => listRetries(tx, topic, subscription, query)),
    receiptKey: () => database.read({}, readReceiptKey),
    forgetReader: (...reader) => claims.forgetReader(...reader),
  }
}
