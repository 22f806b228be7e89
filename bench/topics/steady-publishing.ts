import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from './monotonic.ts'
import { type Order, order } from './payloads.ts'

export type TimedOrder = Order & { readonly sentAt: number }

const PER_SECOND = 100

/** Publishes at a steady rate, 100 a second, on schedule whether or not earlier ones are stored. */
export async function publishSteadily(
  count: number,
  publish: (payload: TimedOrder) => Promise<unknown>,
  perSecond = PER_SECOND,
): Promise<void> {
  const sent: Promise<unknown>[] = []
  for await (const payload of steadyOrders(count, perSecond)) sent.push(publish(payload))
  await Promise.all(sent)
}

/** Each when it is due; one that was asked for late comes at once. */
export async function* steadyOrders(count: number, perSecond = PER_SECOND): AsyncGenerator<TimedOrder> {
  const started = monotonicMs()
  for (let index = 0; index < count; index++) {
    const dueIn = started + (index * 1_000) / perSecond - monotonicMs()
    if (dueIn > 0) await delay(dueIn)
    yield timed(order(index))
  }
}

/** Still 200 bytes: the note makes room for the time. */
function timed({ note, ...rest }: Order): TimedOrder {
  const sentAt = Math.round(monotonicMs() * 1_000) / 1_000
  return { ...rest, sentAt, note: note.slice(0, Math.max(0, note.length - `,"sentAt":${sentAt}`.length)) }
}
