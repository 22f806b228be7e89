import { fstatSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { FolderEntries } from './folder-entries.ts'

type Identity = { readonly dev: number; readonly ino: number }

/** What happened to a file: `what` completes "the namespace was". A file that was only moved away may come back. */
export type FileChange = { readonly what: string; readonly isForGood: boolean }

const MOVED: FileChange = { what: 'moved away', isForGood: false }

/**
 * Whether a path still leads to the file that was opened. A process can keep writing to a file that was removed or
 * replaced, and nobody will ever read that. Its WAL (-wal) matters just as much, because commits go there first.
 * Checking either takes 1.5 µs. But a WAL whose times were asked for is a third slower to sync after the next write: on
 * Linux 6.13 and later that write then records a new time. So it is asked only if a name in its folder has changed.
 */
export class FileIdentity {
  readonly #path: string
  readonly #logPath: string
  readonly #file: Identity | undefined
  readonly #entries: FolderEntries
  #log: Identity | undefined

  /** Create it while the file is open. */
  constructor(path: string) {
    this.#path = resolve(path)
    // SQLite keeps the WAL beside the file itself, not beside a link to it.
    this.#logPath = `${realpathSync(path)}-wal`
    this.#entries = new FolderEntries(dirname(this.#logPath))
    this.#file = identityOf(path)
  }

  isSame(): boolean {
    return isSame(identityOf(this.#path), this.#file)
  }

  /** undefined if it is still the same. */
  change(): FileChange | undefined {
    const file = identityOf(this.#path, this.#file)
    if (isSame(file, this.#file)) return undefined
    if (file === undefined && this.#file !== undefined && isStillNamed(this.#file)) return MOVED
    return { what: `lost: its file was ${file === undefined ? 'removed' : 'replaced by another'}`, isForGood: true }
  }

  /** The same for its WAL. There is none before the first transaction, or if the file system cannot have one. */
  logChange(): FileChange | undefined {
    const entries = this.#entries.look()
    if (this.#log !== undefined && !entries.mayDiffer) return undefined
    const log = identityOf(this.#logPath, this.#log)
    this.#log ??= log
    if (this.#log === undefined || isSame(log, this.#log)) {
      entries.accept()
      return undefined
    }
    if (log === undefined && isStillNamed(this.#log)) return MOVED
    const what = 'lost: the log beside its file (-wal) was removed or replaced, and with it what was committed there'
    return { what, isForGood: true }
  }
}

/** A folder that cannot be read tells nothing. */
function identityOf(path: string, unknown?: Identity): Identity | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return unknown
  }
}

const isSame = (one: Identity | undefined, other: Identity | undefined): boolean =>
  one?.ino === other?.ino && one?.dev === other?.dev

/**
 * Whether an open file still has a name anywhere. Uses SQLite's own descriptors: closing one of ours would release the
 * locks that SQLite holds on the file.
 */
function isStillNamed(file: Identity): boolean {
  try {
    return readdirSync('/dev/fd').some(entry => linksOf(Number(entry), file) > 0)
  } catch {
    return false
  }
}

/** 0 if the descriptor is another file's, or was closed since it was listed. */
function linksOf(descriptor: number, file: Identity): number {
  try {
    const found = fstatSync(descriptor)
    return isSame(found, file) ? found.nlink : 0
  } catch {
    return 0
  }
}
