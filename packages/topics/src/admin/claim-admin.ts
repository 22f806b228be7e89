import type { Runtime } from '../runtime.ts'
import { type ClaimsOptions, type ClaimsPage, claims, type ReleasedClaim, releaseClaim } from './claims.ts'

/** The part of `tm.admin` for claims. */
export type ClaimAdmin<Name extends string = string> = {
  /**
   * List claims with their consumer, messages, start and expiry, oldest first, one page at a time.
   *
   * @example
   * const { claims, next } = await tm.admin.claims('orders', { group: 'email' })
   */
  claims(topic: Name, options?: ClaimsOptions): Promise<ClaimsPage>
  /**
   * Release a claim at once, even one that never expires. The attempt counts, and later settlements of its holder are
   * stale.
   *
   * @example
   * const { claims } = await tm.admin.claims('orders')
   * for (const { id } of claims) await tm.admin.releaseClaim('orders', id)
   */
  releaseClaim(topic: Name, id: string): Promise<ReleasedClaim>
}

export const claimAdmin = (runtime: Runtime): ClaimAdmin => ({
  claims: (topic, options) => claims(runtime, topic, options),
  releaseClaim: (topic, id) => releaseClaim(runtime, topic, id),
})
