import { type FileHandle, open } from 'node:fs/promises'
import { rewriteWal } from './wal-rewrite.ts'

export type WalOptions = {
  /** The WAL file. */
  readonly path: string
  /** Folders whose entries must be synced as well: a new file is lost if its name is. */
  readonly folders: readonly string[]
  /** Number of frames in the WAL that belong to committed transactions. */
  readonly frames: () => Promise<number>
  /** Runs `body` while nobody else writes to the WAL. */
  readonly locked: (body: () => void) => Promise<void>
}

/**
 * Syncs committed transactions to disk without blocking the event loop. In WAL mode a commit is durable once the WAL file
 * is synced; `synchronous = full` would do that inside the commit, on this thread. Here the commit returns at once, and
 * the caller waits for a sync in the background that covers everything committed in the meantime.
 *
 *     trusted ──a sync fails──▶ suspect ──the WAL is read, verified, rewritten and synced on a new handle──▶ trusted
 *
 * The operating system reports a failed sync once per handle, and may drop what it could not write: the next sync of the
 * same handle succeeds and proves nothing.
 */
export class WalSync {
  readonly #options: WalOptions
  #file: FileHandle | undefined
  #isSuspect = false
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined
  /** How to reject those who wait. */
  readonly #waiting = new Set<(reason: Error) => void>()
  #givenUp: Error | undefined

  constructor(options: WalOptions) {
    this.#options = options
  }

  /** Whether a sync has failed and none has covered everything since. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /** Whether anything has been synced; before that, no write was promised to be durable. */
  get isInUse(): boolean {
    return this.#file !== undefined
  }

  /** Resolves when everything that was committed before this call is on disk. */
  flush(): Promise<void> {
    if (this.#givenUp !== undefined) return Promise.reject(this.#givenUp)
    this.#next ??= this.#unlessGivenUp(this.#afterCurrent())
    return this.#next
  }

  /** Rejects everybody who waits for the disk from now on, however long it may take. */
  giveUp(reason: Error): void {
    this.#givenUp = reason
    for (const reject of this.#waiting) reject(reason)
  }

  /** Call it when nothing more will be committed. */
  async close(): Promise<void> {
    // The next sync becomes the current one when that ends.
    while (this.#next !== undefined) await this.#current?.catch(() => undefined)
    await this.#current?.catch(() => undefined)
    await this.#file?.close()
    this.#file = undefined
  }

  #unlessGivenUp(sync: Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.add(reject)
    void sync.then(resolve, reject).finally(() => this.#waiting.delete(reject))
    return promise
  }

  /** A sync in progress may have begun before the caller's commit, so it doesn't count. */
  async #afterCurrent(): Promise<void> {
    await this.#current?.catch(() => undefined)
    this.#next = undefined
    this.#current = this.#isSuspect ? this.#renew() : this.#sync()
    await this.#current
  }

  async #sync(): Promise<void> {
    try {
      this.#file ??= await this.#open()
      await this.#file.datasync()
    } catch (error) {
      this.#isSuspect = true
      throw error
    }
  }

  /** The WAL file exists once a transaction has committed. */
  async #open(): Promise<FileHandle> {
    for (const folder of this.#options.folders) await syncFolder(folder)
    return await open(this.#options.path, 'r+')
  }

  async #renew(): Promise<void> {
    const frames = await this.#options.frames()
    const file = await this.#open()
    try {
      await this.#options.locked(() => rewriteWal(file.fd, this.#options.path, frames))
      await file.datasync()
    } catch (error) {
      await file.close()
      throw error
    }
    await this.#file?.close()
    this.#file = file
    this.#isSuspect = false
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows has no folder handles to sync, and needs none.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
