/** Topic of the demonstration. */
export const TOPIC = 'demo.orders'
export const RESTARTED_GROUP = 'restarted'

export type Order = {
  readonly orderId: number
  readonly customer: string
  readonly total: number
  readonly items: readonly { readonly sku: string; readonly count: number }[]
}

const SKUS = ['kelp', 'driftwood', 'amber', 'sea-glass', 'pearl', 'rope', 'lantern', 'chart'] as const

/** The same number always gives the same order. */
export function orderOf(orderId: number): Order {
  const pick = (salt: number, of: number): number => (Math.imul(orderId * 31 + salt, 2654435761) >>> 8) % of
  const items = Array.from({ length: 1 + pick(1, 3) }, (_, index) => ({
    sku: SKUS[pick(index + 2, SKUS.length)] ?? SKUS[0],
    count: 1 + pick(index + 9, 4),
  }))
  return { orderId, customer: `customer-${1 + pick(5, 40)}`, total: 500 + pick(7, 20_000), items }
}

/** One order in this many can't be shipped, however often it is tried. */
const UNSHIPPABLE = 400

export function ship({ orderId, items }: Order): void {
  if (orderId % UNSHIPPABLE !== 0) return
  throw new OutOfStockError(`'${items[0]?.sku ?? 'item'}' is out of stock for order ${orderId}`)
}

class OutOfStockError extends Error {
  override readonly name = 'OutOfStockError'
}
