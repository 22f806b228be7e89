import type { Runtime } from '../runtime.ts'
import { type BrowsedPage, type BrowseOptions, browse } from './browse.ts'
import type { ByteOptions } from './byte-options.ts'
import { type MessageWithStates, message } from './message.ts'
import type { StoredMessage } from './stored-message.ts'
import { type TailOptions, tail } from './tail.ts'

/** The part of `tm.admin` that shows messages. */
export type MessageAdmin<Name extends string = string> = {
  /**
   * Return a page of retained messages by position, time, key and type, without consuming them.
   *
   * @example
   * const { messages, next } = await tm.admin.browse('orders', { key: 'customer-3', order: 'newest-first' })
   */
  browse(topic: Name, options?: BrowseOptions): Promise<BrowsedPage>
  /**
   * Return a retained message by its id, with where it stands in each group, or undefined.
   *
   * @example
   * const found = await tm.admin.message('orders', 812)
   * for (const { group, state } of found?.groups ?? []) console.log(group, state)
   */
  message(
    topic: Name,
    id: number,
    options?: Pick<ByteOptions, 'maxPayloadBytes'>,
  ): Promise<MessageWithStates | undefined>
  /**
   * Return messages as they are published, without consuming them.
   *
   * @example
   * for await (const message of await tm.admin.tail('orders')) console.log(message.messageId)
   */
  tail(topic: Name, options?: TailOptions): Promise<AsyncGenerator<StoredMessage, void, undefined>>
}

/** `watching`: the runtime, kept informed of what other processes publish. */
export const messageAdmin = (runtime: Runtime, watching: () => Runtime): MessageAdmin => ({
  browse: (topic, options) => browse(runtime, topic, options),
  message: (topic, id, options) => message(runtime, topic, id, options),
  tail: async (topic, options) => await tail(watching(), topic, options),
})
