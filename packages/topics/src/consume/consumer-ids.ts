import { DuplicateConsumerError } from '../errors.ts'

/** The consumers running in this process: an id identifies one consumer of a group. */
export class ConsumerIds {
  readonly #taken = new Set<string>()

  check(topic: string, group: string, consumer: string): void {
    if (this.#taken.has(keyOf(topic, group, consumer))) throw new DuplicateConsumerError(topic, group, consumer)
  }

  take(topic: string, group: string, consumer: string): void {
    this.check(topic, group, consumer)
    this.#taken.add(keyOf(topic, group, consumer))
  }

  free(topic: string, group: string, consumer: string): void {
    this.#taken.delete(keyOf(topic, group, consumer))
  }
}

const keyOf = (...names: string[]): string => names.join('/')
