import type { Runtime } from '../runtime.ts'
import { type BrowsedPage, type BrowseOptions, browse } from './browse.ts'
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
  tail: async (topic, options) => await tail(watching(), topic, options),
})
