import type { Write } from '../nats/messages.ts'
import type { Names, TopicKey } from '../nats/names.ts'
import type { TopicDocument } from '../topic-document.ts'
import type { GroupDocument, PageSummary, Retry } from './document.ts'
import type { Facts } from './facts.ts'
import { encodePage, fitsInline, mergeable, packed, summaryOf } from './pages.ts'

/** Dead letters and other messages of one commit: a batch has room for a thousand. */
const MOST_LETTERS = 800
const MOST_LETTER_BYTES = 32 * 1024 ** 2
/** Pages that one commit removes one by one. */
const MOST_DROPPED = 100
/** A tombstone must outlive whoever may still write below it. */
const TOMBSTONE_SECONDS = 60

/** A change under way: a copy of the document that may be altered, and what is stored beside it. */
export class Draft {
  readonly document: GroupDocument
  readonly facts: Facts
  readonly #names: Names
  readonly #key: TopicKey
  readonly #pages = new Map<number, readonly Retry[]>()
  readonly #dropped = new Set<number>()
  readonly #letters: Write[] = []
  readonly #others: Write[] = []
  #letterBytes = 0
  #topic: TopicDocument | undefined
  isChanged = false

  constructor(document: GroupDocument, facts: Facts, names: Names, key: TopicKey) {
    this.document = document
    this.facts = facts
    this.#names = names
    this.#key = key
  }

  get now(): number {
    return this.facts.now
  }

  /** Whether the commit has room for this many more dead letters. */
  hasRoomFor(letters: number): boolean {
    const count = this.#letters.length + this.#others.length + letters
    return count <= MOST_LETTERS && (this.#letterBytes < MOST_LETTER_BYTES || letters === 0)
  }

  /** Whether the commit has room to open and replace more pages. */
  get hasRoomForPages(): boolean {
    return this.#dropped.size < MOST_DROPPED
  }

  /** The topic with what this change has already altered. */
  get topic(): TopicDocument {
    return this.#topic ?? this.facts.topic()
  }

  changeTopic(topic: TopicDocument): void {
    this.#topic = topic
    this.isChanged = true
  }

  get changedTopic(): TopicDocument | undefined {
    return this.#topic
  }

  /** Makes pages available at once. */
  loadPages(pages: readonly Pick<PageSummary, 'page'>[]): void {
    this.facts.loadPages(pages.map(({ page }) => page).filter(page => !this.#pages.has(page)))
  }

  page(page: number): readonly Retry[] {
    return this.#pages.get(page) ?? this.facts.page(page)
  }

  /** Stores retries apart. Returns what the document keeps of them. */
  storePage(retries: readonly Retry[]): PageSummary {
    const page = this.document.nextPage++
    this.#pages.set(page, retries)
    this.isChanged = true
    return summaryOf(page, retries)
  }

  /** The page is no longer needed. */
  dropPage(page: number): void {
    if (!this.#pages.delete(page)) this.#dropped.add(page)
    this.isChanged = true
  }

  /** Drops any number of pages: more than a few are removed after the commit, by their place in the stream. */
  dropPages(pages: readonly number[]): void {
    const { document } = this
    const stored = pages.filter(page => !this.#pages.delete(page))
    const room = Math.max(0, MOST_DROPPED - this.#dropped.size)
    for (const page of stored.slice(0, room)) this.#dropped.add(page)
    if (stored.length > room) document.droppedBelow = this.facts.revision
    this.isChanged = true
  }

  write(write: Write): void {
    this.#others.push(write)
    this.isChanged = true
  }

  bury(message: number, data: Uint8Array): void {
    // Not the version: after a reset a message may have been dead-lettered at the same version before.
    const subject = this.#names.letter(this.#key, this.document.id, message, this.document.nextLetter++)
    this.#letters.push({ subject, data, expected: 0 })
    this.#letterBytes += data.length
    this.document.letters++
    this.isChanged = true
  }

  /** Puts retries back; those that the document has no room for are stored apart. */
  addRetries(retries: readonly Retry[]): void {
    this.document.retries.push(...retries)
    this.isChanged = true
    if (fitsInline(this.document.retries)) return
    const { inline, pages } = packed(this.document.retries)
    this.document.retries = inline
    for (const page of pages) this.document.pages.push(this.storePage(page))
    this.#merge()
  }

  /** Messages that fail one at a time would otherwise leave thousands of small pages, each named in the document. */
  #merge(): void {
    const merged = mergeable(this.document.pages)
    if (merged.length === 0 || !this.hasRoomForPages) return
    this.loadPages(merged)
    const retries = merged.flatMap(({ page }) => this.page(page))
    const gone = new Set(merged.map(({ page }) => page))
    this.document.pages = this.document.pages.filter(({ page }) => !gone.has(page))
    for (const page of gone) this.dropPage(page)
    const { inline, pages } = packed(retries)
    for (const page of inline.length > 0 ? [[...inline, ...(pages[0] ?? [])], ...pages.slice(1)] : pages) {
      this.document.pages.push(this.storePage(page))
    }
  }

  /** Everything that the commit stores before the document. */
  writes(): Write[] {
    const { id } = this.document
    const pages = [...this.#pages].map(([page, retries]) => ({
      subject: this.#names.page(this.#key, id, page),
      data: encodePage(retries),
    }))
    const dropped = [...this.#dropped].map(page => tombstone(this.#names.page(this.#key, id, page)))
    return [...pages, ...dropped, ...this.#letters, ...this.#others]
  }
}

/** Takes the place of a message that is removed, and disappears by itself. */
export const tombstone = (subject: string, expected?: number): Write => ({
  subject,
  data: new Uint8Array(0),
  ttl: TOMBSTONE_SECONDS,
  ...(expected !== undefined && { expected }),
})
