import { type FileHandle, open } from 'node:fs/promises'

/**
 * Brings committed transactions to the disk without holding up the event loop. In WAL mode a commit is durable once the
 * log file is synced; `synchronous = full` would do that inside the commit, on this thread. Here the commit returns at
 * once and the sync runs beside it, one for all that committed meanwhile, and the caller waits for it.
 */
export class WalSync {
  readonly #file: FileHandle
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async of(database: string): Promise<WalSync> {
    return new WalSync(await open(`${database}-wal`, 'r+'))
  }

  /** Resolves when everything that was committed before this call is on the disk. */
  flush(): Promise<void> {
    this.#next ??= this.#afterCurrent()
    return this.#next
  }

  async close(): Promise<void> {
    await this.#next?.catch(() => undefined)
    await this.#current?.catch(() => undefined)
    await this.#file.close()
  }

  /** A sync that is under way may have begun before the caller's commit, so it doesn't count. */
  async #afterCurrent(): Promise<void> {
    await this.#current?.catch(() => undefined)
    this.#next = undefined
    this.#current = this.#file.datasync()
    await this.#current
  }
}
