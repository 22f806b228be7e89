/** An ordinary message: its JSON takes 200 bytes. */
export type Order = {
  readonly orderId: number
  readonly customer: string
  readonly status: string
  readonly amount: number
  readonly note: string
}

const PAYLOAD_BYTES = 200

const STATUSES = ['new', 'paid', 'packed', 'shipped', 'returned']
const WORDS = 'please leave the parcel with the neighbour on the second floor and ring twice, the bell is rather quiet '

export function order(index: number): Order {
  const bare = {
    orderId: 100_000 + index,
    customer: `customer-${index % 997}`,
    status: STATUSES[index % STATUSES.length] ?? 'new',
    amount: ((index * 37) % 10_000) / 100,
    note: '',
  }
  return { ...bare, note: WORDS.repeat(2).slice(0, PAYLOAD_BYTES - JSON.stringify(bare).length) }
}

export const orders = (count: number): Order[] => Array.from({ length: count }, (_, index) => order(index))

/** The same payloads as text, for the raw side: the engine's limit knows nothing of objects. */
export const orderTexts = (count: number): string[] => orders(count).map(each => JSON.stringify(each))
