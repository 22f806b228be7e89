import type { ServerResponse } from 'node:http'
import type { Tidemark } from 'tidemark'
import type { Settings } from '../options.ts'

/** If disposed before the answer was built, it releases the messages. */
type Unread = Disposable & { isAnswered: boolean }

/**
 * Releases messages claimed for a client that disconnected before its answer was sent, or whose answer could not be
 * built: nobody received those messages, and without this they would wait for their lease to expire, with `lease: 0`
 * for ever.
 */
export class UnreadPulls {
  readonly #topics: Tidemark | undefined
  readonly #logger: Settings['logger']
  readonly #releasing = new Set<Promise<void>>()

  constructor({ topics, logger }: Pick<Settings, 'topics' | 'logger'>) {
    this.#topics = topics
    this.#logger = logger
  }

  watch(raw: ServerResponse, receipt: string | null): Unread {
    const unread = { isAnswered: false }
    const release = (): void => {
      if (receipt === null) return
      const releasing = this.#release(receipt).finally(() => this.#releasing.delete(releasing))
      this.#releasing.add(releasing)
    }
    // A completely written answer may have been read, even if the client is gone by now.
    raw.once('close', () => unread.isAnswered && !raw.writableFinished && release())
    return Object.assign(unread, {
      [Symbol.dispose]: () => {
        if (!unread.isAnswered || raw.closed) release()
      },
    })
  }

  /** Resolves when all releases have finished or failed. */
  async done(): Promise<void> {
    await Promise.all(this.#releasing)
  }

  async #release(receipt: string): Promise<void> {
    try {
      await this.#topics?.settle(receipt, { releases: 'all' })
    } catch (error) {
      this.#logger.warn(
        { err: error },
        'Messages of a client that went could not be given back; they come again when their lease expires',
      )
    }
  }
}
