import type { Logger } from 'tidemark'
import { AuditFile, readAuditFile } from './audit-file.ts'
import { type AuditEntry, type AuditKind, type AuditQuery, matches, type NewEntry } from './entry.ts'

export type AuditOptions = { readonly file: string; readonly maxBytes: number }

/** Entries kept in memory for queries, per kind: refusals, which anybody can cause, must not push out changes. */
const KEPT: { readonly [kind in AuditKind]: number } = { change: 5_000, data: 2_000, refusal: 2_000 }

/** Refusals of one kind from one address per minute that get their own line; the rest is summed up. */
const REFUSALS = 20
const MINUTE_MS = 60_000
const MOST_SENDERS = 10_000

type Repeated = { count: number; since: number; last: NewEntry | undefined }

/** Records every change and every refusal: in memory, in a file or in the log. */
export class Audit {
  readonly #logger: Logger
  readonly #file: AuditFile | undefined
  readonly #kept: { readonly [kind in AuditKind]: AuditEntry[] } = { change: [], data: [], refusal: [] }
  readonly #repeated = new Map<string, Repeated>()
  readonly #timer: NodeJS.Timeout
  #nextId = 1

  constructor(logger: Logger, options: AuditOptions | undefined) {
    this.#logger = logger
    this.#file = options && new AuditFile(options.file, options.maxBytes, logger)
    if (options !== undefined) for (const entry of readAuditFile(options.file)) this.#keep(entry)
    this.#timer = setInterval(() => this.#sumUp(), MINUTE_MS / 4)
    this.#timer.unref()
  }

  add(entry: NewEntry): void {
    if (entry.kind === 'refusal' && this.#isRepeated(entry)) return
    this.#write(entry, 1)
  }

  /** Newest first. */
  read(query: AuditQuery): { readonly entries: readonly AuditEntry[]; readonly next: number | null } {
    this.#sumUp()
    const kinds = query.kind === undefined ? Object.values(this.#kept) : [this.#kept[query.kind]]
    const found = kinds.flatMap(entries => entries.filter(entry => matches(entry, query)))
    const sorted = found.sort((one, other) => other.id - one.id)
    const entries = sorted.slice(0, query.limit)
    return { entries, next: sorted.length > entries.length ? (entries.at(-1)?.id ?? null) : null }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#sumUp(true)
    await this.#file?.flush()
  }

  #write(entry: NewEntry, count: number): void {
    const written: AuditEntry = { id: this.#nextId, at: new Date().toISOString(), ...entry, count }
    this.#keep(written)
    this.#file?.write(written)
    const { kind, outcome, who, from, action, topic, status, code } = written
    const fields = { audit: kind, outcome, who, from, action, topic, status, code, ...(count > 1 && { count }) }
    this.#logger[kind === 'data' ? 'debug' : 'info'](fields, TEXT[kind])
  }

  #keep(entry: AuditEntry): void {
    this.#nextId = Math.max(this.#nextId, entry.id + 1)
    const entries = this.#kept[entry.kind]
    entries.push(entry)
    // Trimmed now and then: removing the first entry each time would move all others.
    if (entries.length > KEPT[entry.kind] * 1.2) entries.splice(0, entries.length - KEPT[entry.kind])
  }

  #isRepeated(entry: NewEntry): boolean {
    const key = `${entry.from} ${entry.code}`
    const now = performance.now()
    const known = this.#repeated.get(key) ?? { count: 0, since: now, last: undefined }
    if (now - known.since > MINUTE_MS) {
      this.#sum(known)
      known.since = now
      known.count = 0
    }
    known.count++
    if (this.#repeated.size >= MOST_SENDERS) this.#sumUp(true)
    this.#repeated.set(key, known)
    if (known.count <= REFUSALS) return false
    known.last = entry
    return true
  }

  /** Writes what was not written line by line. */
  #sumUp(isLast = false): void {
    const now = performance.now()
    for (const [key, each] of this.#repeated) {
      if (!isLast && now - each.since <= MINUTE_MS) continue
      this.#sum(each)
      this.#repeated.delete(key)
    }
  }

  #sum(repeated: Repeated): void {
    if (repeated.last !== undefined) this.#write(repeated.last, repeated.count - REFUSALS)
    repeated.last = undefined
  }
}

const TEXT: { readonly [kind in AuditKind]: string } = {
  change: 'a change over HTTP',
  data: 'messages over HTTP',
  refusal: 'a request was refused',
}
