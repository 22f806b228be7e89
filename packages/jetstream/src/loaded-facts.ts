import { DatabaseError } from 'tidemark'
import type { RawMessage } from 'tidemark/store'
import { type Entry, placeOf, seqOf } from './entry.ts'
import { nextSeq, type Retry } from './group/document.ts'
import { type Facts, Missing } from './group/facts.ts'
import { decodePage } from './group/pages.ts'
import { type Namespace, parsed } from './namespace.ts'
import { StreamGone } from './nats/errors.ts'
import type { TopicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

/** A group of a topic. */
export type GroupRef = { readonly topic: { readonly id: number; readonly uid: number }; readonly id: number }

/** The group, its topic, or its incarnation no longer exists. */
export class GroupGone extends Error {}

type Group = { readonly ref: GroupRef; readonly key: TopicKey }

/** Headers of a message count against the server's limit, too. */
const HEADER_BYTES = 1_024

/** What the changes of one commit have asked for so far. */
export class LoadedFacts implements Facts {
  readonly now: number
  readonly revision: number
  readonly maxBytes: number
  topicSeq = 0
  readonly #ns: Namespace
  readonly #of: Group
  #topic: TopicDocument | undefined
  #lastSeq: number | undefined
  readonly #entries = new Map<string, readonly Entry[]>()
  readonly #pages = new Map<number, readonly Retry[]>()
  readonly #messages = new Map<number, RawMessage | undefined>()
  /** Last sequence of subjects; 0: there is none. */
  readonly #lasts = new Map<string, number>()

  constructor(ns: Namespace, group: Group, { now, revision }: { readonly now: number; readonly revision: number }) {
    this.#ns = ns
    this.#of = group
    this.now = now
    this.revision = revision
    this.maxBytes = ns.client.connection.maxPayload - HEADER_BYTES
  }

  topic(): TopicDocument {
    if (this.#topic !== undefined) return this.#topic
    throw new Missing(async () => {
      const { client, names } = this.#ns
      const { key } = this.#of
      const found = parsed<TopicDocument>(await client.last(names.groupStream(key), names.topic(key)))
      if (found === null) throw new GroupGone()
      this.#topic = found.value
      this.topicSeq = found.seq
    })
  }

  entriesAfter(id: number, messages: number, upTo?: number): readonly Entry[] {
    const reader = this.#ns.reader(this.#of.ref.topic)
    const seq = nextSeq(id)
    // The first entry may have messages up to the id, too.
    const wanted = messages + (seq === seqOf(id) ? placeOf(id) + 1 : 0)
    const until = upTo === undefined ? undefined : Math.min(seqOf(upTo), this.lastSeq())
    const known = `${seq}/${wanted}/${until}`
    const found = this.#entries.get(known) ?? reader.peek(seq, wanted)
    if (found !== undefined) return found
    throw new Missing(async () => {
      this.#entries.set(known, await reader.from(seq, wanted, until).catch(gone))
    })
  }

  message(id: number): RawMessage | undefined {
    this.load([id])
    return this.#messages.get(id)
  }

  load(ids: readonly number[]): void {
    const reader = this.#ns.reader(this.#of.ref.topic)
    const missing = ids.filter(id => !this.#messages.has(id))
    if (missing.length === 0) return
    throw new Missing(async () => {
      const found = await reader.messages(missing).catch(gone)
      for (const [place, id] of missing.entries()) this.#messages.set(id, found[place])
    })
  }

  get knownSeq(): number {
    return this.#ns.reader(this.#of.ref.topic).knownSeq
  }

  lastSeq(): number {
    if (this.#lastSeq !== undefined) return this.#lastSeq
    throw new Missing(async () => {
      const { client, names } = this.#ns
      const { state } = await client.streams.info(names.logStream(this.#of.key)).catch(gone)
      this.#lastSeq = state.last_seq
      this.#ns.reader(this.#of.ref.topic).knows(state.last_seq)
    })
  }

  areThere<T extends { readonly subject: string; readonly seq: number }>(all: readonly T[]): T[] {
    const missing = all.filter(({ subject }) => !this.#lasts.has(subject))
    if (missing.length === 0) return all.filter(({ subject, seq }) => this.#lasts.get(subject) === seq)
    throw new Missing(async () => {
      const { client, names } = this.#ns
      const stream = names.groupStream(this.#of.key)
      const read = async ({ subject }: T): Promise<void> => {
        this.#lasts.set(subject, (await client.last(stream, subject).catch(gone))?.seq ?? 0)
      }
      await Promise.all(missing.map(read))
    })
  }

  page(page: number): readonly Retry[] {
    this.loadPages([page])
    return this.#pages.get(page) ?? []
  }

  loadPages(pages: readonly number[]): void {
    const missing = pages.filter(page => !this.#pages.has(page))
    if (missing.length === 0) return
    throw new Missing(async () => {
      await Promise.all(missing.map(page => this.#fetchPage(page)))
    })
  }

  async #fetchPage(page: number): Promise<void> {
    const { client, names } = this.#ns
    const { key, ref } = this.#of
    const stored = await client.last(names.groupStream(key), names.page(key, ref.id, page)).catch(gone)
    // Never taken for empty: that would lose its messages. The document itself may be an old one, then.
    if (stored === null || stored.data.length === 0) {
      throw new PageMissing(`Retry page ${page} of ${names.group(key, ref.id)} is missing`)
    }
    this.#pages.set(page, decodePage(stored.data))
  }
}

/** A page was dropped since the document was read, or by a lost commit. */
export class PageMissing extends DatabaseError {}

function gone(error: unknown): never {
  throw error instanceof StreamGone ? new GroupGone() : error
}
