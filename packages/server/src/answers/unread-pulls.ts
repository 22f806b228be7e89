import type { ServerResponse } from 'node:http'
import type { Tidemark } from 'tidemark'
import type { Settings } from '../options.ts'

/** Disposed of before the answer was made, it gives the messages back. */
type Unread = Disposable & { isAnswered: boolean }

/**
 * Gives back what was claimed for a client that went before its answer was sent, or whose answer could not be made: nobody was
 * given those messages, and without this they would wait for their lease to run out, and with `lease: 0` for ever.
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
    // An answer that is written whole may have been read, though the client is gone by now.
    raw.once('close', () => unread.isAnswered && !raw.writableFinished && release())
    return Object.assign(unread, {
      [Symbol.dispose]: () => {
        if (!unread.isAnswered || raw.closed) release()
      },
    })
  }

  /** Resolves when all that was to be given back is, or could not be. */
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
