/** Classes are values: tokens for dependency injection, and for instanceof. None can be made with `new`. */
import { ConsumerGroup, open, Reader, Tidemark, Topic, Writer } from 'tidemark'
import { expectType } from './expect-type.ts'

type Token<T> = abstract new (...args: never) => T

/** As a container does: a class is asked for, and an instance of it is given. */
declare function provide<T>(token: { readonly prototype: T }, factory: () => Promise<T>): void

provide(Tidemark, () => open('sqlite::memory:'))

export function narrowed(value: unknown): void {
  if (value instanceof Tidemark) expectType<string>()(value.namespace)
  if (value instanceof ConsumerGroup) expectType<boolean>()(value.running)
  if (value instanceof Reader || value instanceof Writer) expectType<string>()(value.topic)
  if (value instanceof Topic) expectType<string>()(value.name)
}

// @ts-expect-error: open() is the way
export const made = new Tidemark()
// @ts-expect-error: the constructor is private
export const token: Token<Tidemark> = Tidemark

export class OrderService {
  readonly #tm: Tidemark<{ orders: { orderId: number } }>
  constructor(tm: Tidemark<{ orders: { orderId: number } }>) {
    this.#tm = tm
  }
  async place(orderId: number): Promise<string> {
    return (await this.#tm.publish('orders', { orderId })).messageId
  }
}
