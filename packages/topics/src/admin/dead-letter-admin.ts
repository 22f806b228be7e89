import type { Runtime } from '../runtime.ts'
import type { Redriven } from '../stores/dead-letters.ts'
import type { ByteOptions } from './byte-options.ts'
import { type DeadLetterErrorOptions, type DeadLetterErrors, deadLetterErrors } from './dead-letter-errors.ts'
import {
  type DeadLetterFilter,
  type DeadLetterMessage,
  type DeadLetterOptions,
  type DeadLetterPage,
  type DeadLetterPreview,
  deadLetter,
  deadLetterPage,
  deadLetters,
  discard,
  previewDeadLetters,
  redrive,
} from './dead-letters.ts'

/** The part of `tm.admin` for dead letters. */
export type DeadLetterAdmin<Name extends string = string> = {
  /**
   * List dead letters, oldest first, one page at a time.
   *
   * @example
   * const letters = await tm.admin.deadLetters('orders', { group: 'email', limit: 10 })
   */
  deadLetters(topic: Name, options?: DeadLetterOptions): Promise<DeadLetterMessage[]>
  /**
   * Like `deadLetters`, with limits in bytes (`maxBytes`, `maxPayloadBytes`) and the position of the next page.
   *
   * @example
   * const { deadLetters, next } = await tm.admin.deadLetterPage('orders', { maxBytes: 1_000_000 })
   */
  deadLetterPage(topic: Name, options?: DeadLetterOptions & ByteOptions): Promise<DeadLetterPage>
  /**
   * Return a dead letter by its id, or undefined.
   *
   * @example
   * const letter = await tm.admin.deadLetter('orders', 17)
   */
  deadLetter(
    topic: Name,
    id: number,
    options?: Pick<ByteOptions, 'maxPayloadBytes'>,
  ): Promise<DeadLetterMessage | undefined>
  /**
   * Group dead letters by kind of error: those that differ only in numbers, ids and quoted text are one kind. Of one
   * topic, of one of its groups, or of all topics.
   *
   * @example
   * const { errors } = await tm.admin.deadLetterErrors({ topic: 'orders' })
   * for (const { error, count, fingerprint } of errors) console.log(error, count, fingerprint)
   */
  deadLetterErrors(options?: DeadLetterErrorOptions): Promise<DeadLetterErrors>
  /**
   * Count the dead letters that `redrive` or `discard` would find with the same filter.
   *
   * @example
   * const { matching, gone } = await tm.admin.previewDeadLetters('orders', { group: 'email' })
   */
  previewDeadLetters(topic: Name, filter: DeadLetterFilter): Promise<DeadLetterPreview>
  /**
   * Redeliver dead letters with a full set of attempts. Dead letters whose message is no longer in the log are kept
   * and counted.
   *
   * @example
   * const { redriven, gone } = await tm.admin.redrive('orders', { group: 'email', errorName: 'SmtpError' })
   */
  redrive(topic: Name, filter: DeadLetterFilter): Promise<Redriven>
  /**
   * Delete dead letters permanently. Returns their number.
   *
   * @example
   * const discarded = await tm.admin.discard('orders', { ids: [17, 18] })
   */
  discard(topic: Name, filter: DeadLetterFilter): Promise<number>
}

export const deadLetterAdmin = (runtime: Runtime): DeadLetterAdmin => ({
  deadLetters: (topic, options) => deadLetters(runtime, topic, options),
  deadLetterPage: (topic, options) => deadLetterPage(runtime, topic, options),
  deadLetter: (topic, id, options) => deadLetter(runtime, topic, id, options),
  deadLetterErrors: options => deadLetterErrors(runtime, options),
  previewDeadLetters: (topic, filter) => previewDeadLetters(runtime, topic, filter),
  redrive: (topic, filter) => redrive(runtime, topic, filter),
  discard: (topic, filter) => discard(runtime, topic, filter),
})
