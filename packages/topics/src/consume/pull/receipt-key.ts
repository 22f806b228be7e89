import { createHmac } from 'node:crypto'
import type { Store } from '../../stores/store.ts'

/**
 * The namespace's secret, read with the first receipt. It is never stale: after the namespace is recreated, every call
 * of this process fails.
 */
export class ReceiptKey {
  readonly #store: Store
  #key: Promise<Uint8Array> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Derives a key for another purpose: neither key reveals the other. */
  async derive(purpose: string): Promise<Uint8Array> {
    return createHmac('sha256', await this.read())
      .update(`purpose: ${purpose}`)
      .digest()
  }

  async read(): Promise<Uint8Array> {
    this.#key ??= this.#store.leases.receiptKey().catch(error => {
      this.#key = undefined
      throw error
    })
    return await this.#key
  }
}
