import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError } from 'tidemark'
import { PRIVATE_FILE } from '../../private-files.ts'
import { StorageError, StorageFullError } from '../errors.ts'
import { isMissing } from './missing.ts'

/** A full disk, an exhausted quota, a limit on file sizes. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
/** Every write updates a file's time, so one that old has no writer any more. */
const STALE_MS = 60 * 60 * 1_000

/**
 * A file being written: under a temporary name, then synced, then renamed. Until `place` it can be dropped, and a crash
 * leaves only a temporary file.
 */
export class IncomingFile implements AsyncDisposable {
  readonly #path: string
  readonly #target: string
  readonly #handle: FileHandle
  #isPlaced = false
  #isClosed = false

  /** `target` is the path named in errors. */
  static async create(folder: string, target: string): Promise<IncomingFile> {
    const path = join(folder, `${randomUUID()}.tmp`)
    try {
      return new IncomingFile(path, target, await open(path, 'wx', PRIVATE_FILE))
    } catch (error) {
      throw writeError(target, error)
    }
  }

  private constructor(path: string, target: string, handle: FileHandle) {
    this.#path = path
    this.#target = target
    this.#handle = handle
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await this.#handle.write(bytes, at)
        at += bytesWritten
      }
    } catch (error) {
      throw writeError(this.#target, error)
    }
  }

  /** Durable and under its name when this resolves. */
  async place(folder: string, name: string): Promise<void> {
    try {
      await this.#handle.sync()
      await this.#close()
      await rename(this.#path, join(folder, name))
      this.#isPlaced = true
      await syncFolder(folder)
    } catch (error) {
      throw writeError(this.#target, error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
    if (!this.#isPlaced) await rm(this.#path, { force: true })
  }

  async #close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#handle.close()
  }
}

/** A name is durable once its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Removes what killed writers left behind. Others may be writing in the same folder, so only old files are removed. */
export async function removeStaleFiles(folder: string, now = Date.now()): Promise<number> {
  let removed = 0
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    try {
      if (!name.endsWith('.tmp') || (await stat(path)).mtimeMs > now - STALE_MS) continue
      await rm(path)
      removed++
    } catch (error) {
      // Another process removed or placed it meanwhile.
      if (!isMissing(error)) throw error
    }
  }
  return removed
}

export function writeError(target: string, error: unknown): Error {
  if (error instanceof CodedError) return error
  const isFull = FULL.has((error as NodeJS.ErrnoException).code ?? '')
  return isFull ? new StorageFullError(target, error) : new StorageError('Writing', target, error)
}
