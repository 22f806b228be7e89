import type {
  ClaimRecord,
  ClaimRequest,
  ClaimResult,
  ClaimsQuery,
  LeaseHolder,
  Leases,
  ReleasedClaimRecord,
  RetryQuery,
  RetryRecord,
  Settlement,
  SettleResult,
} from '../leases.ts'
import type { SubscriptionRecord } from '../subscription-record.ts'
import type { TopicRecord } from '../topic-record.ts'
import { claim, look, toLease } from './claim.ts'
import { listClaims, listHolders, releaseClaim } from './claims.ts'
import type { Connection } from './connection.ts'
import { forgetOldLeases } from './lease-expiry.ts'
import { leaseSize, readReceiptKey } from './receipts.ts'
import type { SharedRowCache } from './row-cache.ts'
import { extendLease, settleLease } from './settle.ts'
import { listRetries } from './waiting-retries.ts'

const FORGET_EVERY_MS = 60_000

/** The leases of one file. */
export class SqliteLeases implements Leases {
  readonly #connection: Connection
  readonly #caches: SharedRowCache
  /** Subscriptions whose last claim was full: more work is likely, so they skip the check before the write. */
  readonly #busy = new Set<number>()
  #forgetAgainAt = performance.now() + FORGET_EVERY_MS
  #forgetFrom = ''

  constructor(connection: Connection, caches: SharedRowCache) {
    this.#connection = connection
    this.#caches = caches
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { id } = request.subscription
    const result = await this.#claim(request, !this.#busy.has(id))
    if ((result.lease?.size ?? 0) >= request.limit) this.#busy.add(id)
    else this.#busy.delete(id)
    if (request.sweep) await this.#forgetOldLeases()
    return result
  }

  settle(settlements: readonly Settlement[]): Promise<SettleResult[]> {
    return this.#connection.write(true, tx => settlements.map(settlement => settleLease(tx, settlement)))
  }

  extend(token: string, ms: number): Promise<boolean> {
    return this.#connection.write(true, tx => extendLease(tx, token, ms))
  }

  size(token: string): Promise<number | undefined> {
    return this.#connection.read(tx => leaseSize(tx, token))
  }

  list(topic: TopicRecord, query: ClaimsQuery): Promise<ClaimRecord[]> {
    return this.#connection.read(tx => listClaims(tx, topic, query), { topic })
  }

  holders(topic: TopicRecord, subscription: SubscriptionRecord): Promise<LeaseHolder[]> {
    return this.#connection.read(tx => listHolders(tx, subscription), { topic, subscription })
  }

  release(topic: TopicRecord, token: string): Promise<ReleasedClaimRecord | undefined> {
    return this.#connection.write(true, tx => releaseClaim(tx, topic, token), { topic })
  }

  retries(topic: TopicRecord, subscription: SubscriptionRecord, query: RetryQuery): Promise<RetryRecord[]> {
    return this.#connection.read(tx => listRetries(tx, topic, subscription, query), { topic, subscription })
  }

  receiptKey(): Promise<Uint8Array> {
    return this.#connection.read(readReceiptKey)
  }

  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void {
    this.#busy.delete(subscriptionId)
    if (!shared) this.#caches.delete(topicId)
  }

  /**
   * One short transaction that commits without waiting for the disk: losing a claim in a power failure only costs a
   * redelivery. The rows are read after it, without the write lock.
   */
  async #claim(request: ClaimRequest, lookFirst: boolean): Promise<ClaimResult> {
    const connection = this.#connection
    if (lookFirst) {
      const looked = await connection.read(tx => look(tx, request))
      if (!looked.work) return looked.result
    }
    const busyBefore = connection.busyCount
    const { result, claimed } = await connection.write(false, tx => claim(tx, request))
    const cache = request.shared ? this.#caches.of(request.topic.id) : undefined
    return {
      ...result,
      conflict: connection.busyCount > busyBefore,
      lease: claimed && connection.readSync(tx => toLease(tx, request, claimed, cache)),
    }
  }

  async #forgetOldLeases(): Promise<void> {
    if (performance.now() < this.#forgetAgainAt) return
    this.#forgetAgainAt = performance.now() + FORGET_EVERY_MS
    this.#forgetFrom = await this.#connection.write(false, tx => forgetOldLeases(tx, tx.now(), this.#forgetFrom))
  }
}
