import type { Leases } from '../leases.ts'
import type { SharedClaims } from './claim.ts'
import { listClaims, releaseClaim } from './claims.ts'
import type { Database } from './database.ts'
import { leaseSize, readReceiptKey } from './receipts.ts'
import { extend, settle } from './settle.ts'
import { listRetries } from './waiting-retries.ts'
import type { WakeUps } from './wake-ups.ts'

/** The leases of one schema. */
export function postgresLeases(database: Database, claims: SharedClaims, wakeUps: WakeUps): Leases {
  return {
    claim: request => claims.claim(request),
    settle: settlements => settle(database, settlements, topicId => wakeUps.send(topicId)),
    extend: (token, ms) => extend(database, token, ms),
    size: token => leaseSize(database, token),
    list: (topic, query) => database.expecting({ topic }, () => listClaims(database, topic, query)),
    release: (topic, token) => database.expecting({ topic }, () => releaseClaim(database, topic, token)),
    retries: (topic, subscription, query) =>
      database.expecting({ topic, subscription }, () => listRetries(database, topic, subscription, query)),
    receiptKey: () => readReceiptKey(database),
    forgetReader: (...reader) => claims.forgetReader(...reader),
  }
}
