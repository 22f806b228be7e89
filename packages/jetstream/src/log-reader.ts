import type { RawMessage } from 'tidemark/store'
import { Entry, placeOf, seqOf } from './entry.ts'
import type { Client } from './nats/client.ts'
import { pause } from './nats/connection.ts'

/** Entries per request, and about as many bytes. */
const MOST_ENTRIES = 256
const MOST_BYTES = 4 * 1024 ** 2
const FIRST_ENTRIES = 8
/** Whoever reads on from where it stopped is given so many times what it asked for: a request costs more than an entry. */
const AHEAD = 8
/** A replica may lag behind what this process knows to be stored. */
const LAG_PAUSES_MS = [5, 20, 50]

/** An entry on its way to another process: its sequence, its time, and its content. */
export type PackedEntry = readonly [seq: number, at: number, base64: string]

/**
 * Reads the log of a topic. It keeps a window of consecutive entries, bounded in bytes, that the groups of this process
 * share: entries are immutable, so what one group has read serves the others.
 */
export class LogReader {
  readonly #client: Client
  readonly #stream: string
  readonly #subject: string
  readonly #maxBytes: number
  /** All entries from the sequence `#from` to the last one of them. */
  #window: Entry[] = []
  #from = 0
  #bytes = 0
  /** What is read before anybody asks for it. */
  #ahead: Promise<unknown> | undefined
  /** The last page that was read was a full one. */
  #isMore = false
  /** Of an entry, by those that were read. */
  #mean: { bytes: number; count: number } | undefined
  #known = 0
  /** Entry that this process has published. */
  #published = 0
  /** Single entries that were read for retries. */
  readonly #single = new Map<number, Entry>()
  /** Entries up to a sequence count as older by so many milliseconds. */
  aged: readonly (readonly [upTo: number, ms: number])[] = []

  constructor(client: Client, stream: string, subject: string, maxBytes: number) {
    this.#client = client
    this.#stream = stream
    this.#subject = subject
    this.#maxBytes = Math.max(maxBytes, MOST_BYTES)
  }

  /** The log is known to have an entry with this sequence. */
  knows(seq: number): void {
    this.#known = Math.max(this.#known, seq)
  }

  /** This process has stored an entry with this sequence. */
  published(seq: number): void {
    this.knows(seq)
    this.#published = Math.max(this.#published, seq)
  }

  get knownSeq(): number {
    return this.#known
  }

  /** Entries from a sequence on with so many messages, if the window has them. */
  peek(seq: number, messages: number): Entry[] | undefined {
    if (seq < this.#from || this.#window.length === 0) return undefined
    const found: Entry[] = []
    let count = 0
    for (let at = lowerBound(this.#window, seq); at < this.#window.length && count < messages; at++) {
      const entry = this.#window[at]
      if (entry === undefined) break
      found.push(entry)
      count += entry.count
    }
    return count >= messages ? found : undefined
  }

  /**
   * Entries from a sequence on with so many messages, or all there are. Up to `until`, and to what this process has
   * published, none is missing because a replica lags behind.
   */
  async from(seq: number, messages: number, until = 0): Promise<Entry[]> {
    const present = Math.max(until, this.#published)
    const found: Entry[] = []
    let next = Math.max(1, seq)
    let count = 0
    for (let lag = 0; count < messages; ) {
      const cached = this.#cachedFrom(next)
      if (cached.length === 0 && this.#ahead !== undefined) {
        await this.#ahead
        continue
      }
      const page = cached.length > 0 ? cached : await this.#fetch(next, messages - count)
      for (const entry of page) {
        if (count >= messages) break
        found.push(entry)
        count += entry.count
        next = entry.seq + 1
      }
      if (page.length > 0) continue
      if (next > present) break
      const pauseMs = LAG_PAUSES_MS[lag++]
      if (pauseMs !== undefined) {
        await pause(pauseMs)
        continue
      }
      const entry = await this.#fromLeader(next)
      if (entry === undefined) break
      found.push(entry)
      count += entry.count
      next = entry.seq + 1
    }
    return found
  }

  /**
   * Reads on where the window ends, if it has less than so many messages from this sequence on and there may be more:
   * whoever claims them next need not wait for them.
   */
  readAhead(seq: number, messages: number): void {
    const end = this.#window.at(-1)?.seq
    if (end === undefined || !this.#isMore || this.#ahead !== undefined || seq < this.#from) return
    const left = this.#cachedFrom(seq)
    if (left.reduce((sum, { count }) => sum + count, 0) >= messages) return
    // Not at the expense of what is still to be claimed.
    if (left.reduce((sum, { bytes }) => sum + bytes, MOST_BYTES) > this.#maxBytes) return
    const read = async (): Promise<void> => {
      const page = await this.#page(end + 1, messages)
      if (this.#window.at(-1)?.seq === end) this.#keep(end + 1, page)
    }
    this.#ahead = read()
      .catch(() => undefined) // Whoever needs it reads it again.
      .finally(() => {
        this.#ahead = undefined
      })
  }

  /**
   * Walks through the log in steps, without keeping what it reads. A replica may lag behind: that there is no more is
   * believed from the leader.
   */
  async *walk(seq: number): AsyncGenerator<Entry> {
    let next = Math.max(1, seq)
    for (;;) {
      const page = await this.#request({ seq: next }, MOST_ENTRIES)
      yield* page
      const last = page.at(-1) ?? (await this.#fromLeader(next))
      if (last === undefined) return
      if (page.length === 0) yield last
      next = last.seq + 1
    }
  }

  /** The first entry at or after a time; undefined: there is none. */
  async since(time: number): Promise<Entry | undefined> {
    if (this.aged.length > 0) {
      for await (const entry of this.walk(1)) if (entry.count > 0 && entry.at >= time) return entry
      return undefined
    }
    const page = await this.#since(time)
    if (page === null) return undefined
    const first = page.find(entry => entry.count > 0)
    if (first !== undefined) return first
    for await (const entry of this.walk((page.at(-1)?.seq ?? 0) + 1)) {
      if (entry.count > 0 && entry.at >= time) return entry
    }
    return undefined
  }

  /** null: the leader has no entry that is as young. Empty: every replica that was asked lags behind. */
  async #since(time: number): Promise<Entry[] | null> {
    const start_time = new Date(Math.max(0, time)).toISOString()
    for (let lag = 0; ; lag++) {
      const page = await this.#request({ start_time }, 16)
      const pauseMs = LAG_PAUSES_MS[lag]
      if (page.length > 0 || pauseMs === undefined) return page
      const last = await this.#client.last(this.#stream, this.#subject)
      if (last === null || last.at < time) return null
      await pause(pauseMs)
    }
  }

  async entry(seq: number): Promise<Entry | undefined> {
    const known = this.#find(seq)
    if (known !== undefined) return known
    const query = { seq, next_by_subj: this.#subject, batch: 1 }
    const [direct] = await this.#client.batch(this.#stream, query)
    // A replica may lag behind: that there is none is believed from the leader.
    const stored = direct?.seq === seq ? direct : await this.#client.at(this.#stream, seq)
    if (stored === null || stored.subject !== this.#subject) return undefined
    const entry = this.#toEntry(stored)
    this.#keepSingle(entry)
    return entry
  }

  async message(id: number): Promise<RawMessage | undefined> {
    return (await this.entry(seqOf(id)))?.message(placeOf(id))
  }

  /** A message that is at hand; null: it has to be read. */
  peekMessage(id: number): RawMessage | undefined | null {
    const entry = this.#find(seqOf(id))
    return entry === undefined ? null : entry.message(placeOf(id))
  }

  /** Messages with these ids, as far as the log has them. */
  async messages(ids: readonly number[]): Promise<(RawMessage | undefined)[]> {
    return await Promise.all(ids.map(id => this.message(id)))
  }

  /** Entries that are at hand, for another process; undefined if one is not, or if they are large together. */
  packed(seqs: ReadonlySet<number>, mostBytes: number): PackedEntry[] | undefined {
    if (seqs.size > MOST_ENTRIES) return undefined
    const packed: PackedEntry[] = []
    let bytes = 0
    for (const seq of seqs) {
      const entry = this.#find(seq)
      bytes += entry?.stored.length ?? 0
      if (entry === undefined || bytes > mostBytes || this.aged.length > 0) return undefined
      packed.push([seq, entry.at, Buffer.from(entry.stored).toString('base64')])
    }
    return packed
  }

  /** Entries that another process has sent. */
  unpack(entries: readonly PackedEntry[]): void {
    for (const [seq, at, data] of entries)
      this.#keepSingle(this.#toEntry({ seq, at, data: Buffer.from(data, 'base64') }))
  }

  clear(): void {
    this.#window = []
    this.#from = 0
    this.#bytes = 0
    this.#single.clear()
  }

  #keepSingle(entry: Entry): void {
    this.#single.set(entry.seq, entry)
    if (this.#single.size > MOST_ENTRIES) this.#single.delete(this.#single.keys().next().value ?? 0)
  }

  #find(seq: number): Entry | undefined {
    const at = lowerBound(this.#window, seq)
    const entry = this.#window[at]
    return entry?.seq === seq ? entry : this.#single.get(seq)
  }

  async #fromLeader(seq: number): Promise<Entry | undefined> {
    const stored = await this.#client.next(this.#stream, this.#subject, seq)
    return stored === null ? undefined : this.#toEntry(stored)
  }

  #cachedFrom(seq: number): Entry[] {
    return seq < this.#from ? [] : this.#window.slice(lowerBound(this.#window, seq))
  }

  async #fetch(seq: number, messages: number): Promise<Entry[]> {
    const page = await this.#page(seq, messages)
    if (page.length > 0) this.#keep(seq, page)
    return page
  }

  async #page(seq: number, messages: number): Promise<Entry[]> {
    const goesOn = seq === (this.#window.at(-1)?.seq ?? Number.NaN) + 1
    const { bytes, count } = this.#mean ?? { bytes: 1, count: 1 }
    const entries = (messages / count + 1) * (goesOn ? AHEAD : 1)
    // Of a log that was never read, nobody knows whether an entry has one message or a thousand.
    const most = this.#mean === undefined ? FIRST_ENTRIES : Math.min(MOST_ENTRIES, MOST_BYTES / bytes)
    const wanted = Math.max(1, Math.ceil(Math.min(entries, most)))
    const page = await this.#request({ seq }, wanted)
    this.#isMore = page.length === wanted
    return page
  }

  async #request(start: { readonly seq: number } | { readonly start_time: string }, batch: number): Promise<Entry[]> {
    const found = await this.#client.batch(this.#stream, { ...start, next_by_subj: this.#subject, batch })
    const page = found.map(each => this.#toEntry(each))
    this.knows(page.at(-1)?.seq ?? 0)
    for (const { bytes, count } of page) {
      const mean = this.#mean ?? { bytes, count }
      this.#mean = { bytes: mean.bytes * 0.9 + bytes * 0.1, count: Math.max(1, mean.count * 0.9 + count * 0.1) }
    }
    return page
  }

  #toEntry({ seq, at, data }: { readonly seq: number; readonly at: number; readonly data: Uint8Array }): Entry {
    const older = this.aged.reduce((sum, [upTo, ms]) => (seq <= upTo ? sum + ms : sum), 0)
    return new Entry({ seq, at: at - older, data })
  }

  /** Continues the window, or begins a new one there. */
  #keep(seq: number, page: readonly Entry[]): void {
    const last = this.#window.at(-1)
    const continues = last !== undefined && seq >= this.#from && seq <= last.seq + 1
    if (!continues) {
      this.#window = []
      this.#bytes = 0
      this.#from = seq
    }
    for (const entry of page) {
      if (entry.seq <= (this.#window.at(-1)?.seq ?? 0)) continue
      this.#window.push(entry)
      this.#bytes += entry.bytes + 200
    }
    while (this.#bytes > this.#maxBytes && this.#window.length > 1) {
      const dropped = this.#window.shift()
      this.#bytes -= (dropped?.bytes ?? 0) + 200
      this.#from = (dropped?.seq ?? 0) + 1
    }
  }
}

/** Place of the first entry that has at least this sequence. */
function lowerBound(entries: readonly Entry[], seq: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle]?.seq ?? 0) < seq) low = middle + 1
    else high = middle
  }
  return low
}
