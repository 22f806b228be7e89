import { Buffer } from 'node:buffer'
import type { Write } from '../nats/client.ts'
import type { Names, TopicKey } from '../nats/names.ts'
import type { TopicDocument } from '../topic-document.ts'
import type { GroupDocument, PageSummary, Retry, RetryKind } from './document.ts'
import { kindOf } from './document.ts'
import type { Facts } from './facts.ts'

/** Retries that the document holds itself; more are stored apart. */
const MOST_INLINE = 64
/** Retries of a page. */
const PAGE = 1_000
const PAGE_BYTES = 512 * 1024
/** Dead letters and pages of one commit: a batch has room for a thousand messages. */
const MOST_LETTERS = 900
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
    return this.#letters.length + this.#others.length + letters <= MOST_LETTERS
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

  write(write: Write): void {
    this.#others.push(write)
    this.isChanged = true
  }

  bury(message: number, version: number, data: Uint8Array): void {
    const subject = this.#names.letter(this.#key, this.document.id, message, version)
    this.#letters.push({ subject, data, expected: 0 })
    this.document.letters++
    this.isChanged = true
  }

  /** Puts retries back; those that the document has no room for are stored apart. */
  addRetries(retries: readonly Retry[]): void {
    this.document.retries.push(...retries)
    this.isChanged = true
    if (this.document.retries.length <= MOST_INLINE) return
    const pages = packed(this.document.retries.toSorted((a, b) => a.due - b.due || a.id - b.id))
    const [first = []] = pages
    this.document.retries = first.length <= MOST_INLINE ? first : []
    for (const page of first.length <= MOST_INLINE ? pages.slice(1) : pages) {
      this.document.pages.push(this.storePage(page))
    }
  }

  /** Everything that the commit stores before the document. */
  writes(): Write[] {
    const { id } = this.document
    const pages = [...this.#pages].map(([page, retries]) => ({
      subject: this.#names.page(this.#key, id, page),
      data: Buffer.from(JSON.stringify(retries)),
    }))
    const dropped = [...this.#dropped].map(page => tombstone(this.#names.page(this.#key, id, page)))
    return [...pages, ...dropped, ...this.#letters, ...this.#others]
  }
}

/** Retries in pages; a piece of an expired lease stays together, and the first page is small enough for the document. */
function packed(sorted: readonly Retry[]): Retry[][] {
  const groups = [...Map.groupBy(sorted, ({ id, piece }) => piece ?? id).values()]
  const pages: Retry[][] = [[]]
  let bytes = 0
  for (const group of groups) {
    const size = group.reduce((sum, retry) => sum + JSON.stringify(retry).length * 2, 0)
    const last = pages.at(-1) ?? []
    const most = pages.length === 1 ? MOST_INLINE / 4 : PAGE
    if (last.length > 0 && (last.length + group.length > most || bytes + size > PAGE_BYTES)) {
      pages.push([...group])
      bytes = size
    } else {
      last.push(...group)
      bytes += size
    }
  }
  return pages
}

/** How many retries one page has room for: a history may be long. */
export function countOfPage(retries: readonly Retry[]): number {
  let bytes = 0
  const tooMany = retries.findIndex(retry => {
    bytes += JSON.stringify(retry).length * 2
    return bytes > PAGE_BYTES
  })
  return tooMany === -1 ? retries.length : Math.max(1, tooMany)
}

/** Takes the place of a message that is removed, and disappears by itself. */
export const tombstone = (subject: string, expected?: number): Write => ({
  subject,
  data: new Uint8Array(0),
  ttl: TOMBSTONE_SECONDS,
  ...(expected !== undefined && { expected }),
})

function summaryOf(page: number, retries: readonly Retry[]): PageSummary {
  const due: Partial<Record<RetryKind, number>> = {}
  let low = Number.MAX_SAFE_INTEGER
  let high = 0
  for (const retry of retries) {
    const kind = kindOf(retry)
    due[kind] = Math.min(due[kind] ?? retry.due, retry.due)
    low = Math.min(low, retry.id)
    high = Math.max(high, retry.id)
  }
  return { page, count: retries.length, low, high, due }
}
