import { closeSync, createReadStream, existsSync, fchmodSync, fstatSync, openSync, readSync } from 'node:fs'
import { appendFile, chmod, rename, rm, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { ConfigError, type Logger } from 'tidemark'
import { type AuditEntry, type AuditQuery, matches, parseEntry } from './entry.ts'

/** How much of the end of the file is read at the start. */
const READ_BYTES = 4 * 1024 * 1024
/** Number of rotated files kept beside it: audit.jsonl.1 is the newest. */
const KEPT = 4
/**
 * Maximum number of lines waiting while the disk accepts nothing; older lines are dropped, and their number is
 * reported.
 */
const MOST_WAITING = 100_000

/** Appends lines in order, many at a time, and rotates the file when it is full. */
export class AuditFile {
  readonly #path: string
  readonly #maxBytes: number
  readonly #logger: Logger
  #waiting: string[] = []
  #writing: Promise<void> | undefined
  #isFailing = false
  #dropped = 0

  constructor(path: string, maxBytes: number, logger: Logger) {
    this.#path = path
    this.#maxBytes = maxBytes
    this.#logger = logger
    // A file that cannot be written is reported when the server starts, not with the first change.
    makePrivate(path)
  }

  write(entry: AuditEntry): void {
    this.#waiting.push(`${JSON.stringify(entry)}\n`)
    this.#bound()
    this.#writing ??= this.#drain()
  }

  /** Tries once more if something is waiting, and reports what is lost after that. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#waiting.length > 0) await this.#drain()
    const lines = this.#waiting.length + this.#dropped
    if (lines > 0) this.#logger.error({ file: this.#path, lines }, 'lines of the audit could not be written')
  }

  #bound(): void {
    const beyond = Math.max(0, this.#waiting.length - MOST_WAITING)
    this.#waiting.splice(0, beyond)
    this.#dropped += beyond
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting
      this.#waiting = []
      try {
        await this.#setAside()
        await appendFile(this.#path, lines.join(''), { mode: 0o600 })
        this.#isFailing = false
      } catch (error) {
        this.#waiting = [...lines, ...this.#waiting]
        this.#bound()
        if (!this.#isFailing)
          this.#logger.error({ err: error, file: this.#path }, 'the audit cannot be written; trying again')
        this.#isFailing = true
        break
      }
    }
    this.#writing = undefined
  }

  async #setAside(): Promise<void> {
    const size = await stat(this.#path).then(
      stats => stats.size,
      () => 0,
    )
    if (size < this.#maxBytes) return
    await rm(`${this.#path}.${KEPT}`, { force: true })
    for (let number = KEPT - 1; number >= 1; number--) {
      await rename(`${this.#path}.${number}`, `${this.#path}.${number + 1}`).catch(ignoreMissing)
    }
    await rename(this.#path, `${this.#path}.1`)
    await chmod(`${this.#path}.1`, 0o600)
  }
}

function makePrivate(path: string): void {
  try {
    const file = openSync(path, 'a', 0o600)
    fchmodSync(file, 0o600)
    closeSync(file)
  } catch (error) {
    throw new ConfigError('server.auditFile', path, `a file that can be written (${(error as Error).message})`)
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/**
 * Searches an audit file and its rotated files, the newest entries first.
 *
 * @example
 * const refusals = await searchAudit('audit.jsonl', { kind: 'refusal', limit: 20 })
 */
export async function searchAudit(path: string, query: AuditQuery): Promise<readonly AuditEntry[]> {
  let found: AuditEntry[] = []
  for (const file of [...Array.from({ length: KEPT }, (_, index) => `${path}.${KEPT - index}`), path]) {
    if (!existsSync(file)) continue
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const entry = parseEntry(line)
      if (entry === undefined || !matches(entry, query)) continue
      found.push(entry)
      if (found.length > query.limit * 2) found = found.slice(-query.limit)
    }
  }
  return found.slice(-query.limit).reverse()
}

/** The newest entries of a file, oldest first. */
export function readAuditFile(path: string): readonly AuditEntry[] {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const length = Math.min(size, READ_BYTES)
    const bytes = Buffer.alloc(length)
    readSync(file, bytes, 0, length, size - length)
    return bytes
      .toString()
      .split('\n')
      .flatMap(line => parseEntry(line) ?? [])
  } finally {
    closeSync(file)
  }
}
