import { ConfigError } from '../errors.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { ByteBounds } from '../stores/byte-bounds.ts'
import type { DeadLetter, DeadLetterSelection, Redriven, RedrivenPage } from '../stores/dead-letters.ts'
import type { FailedAttempt, FailureRecord } from '../stores/failure-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ByteOptions, readBounds } from './byte-options.ts'
import { findOfKind, type OfKind } from './dead-letter-errors.ts'
import { findTopic, storedName } from './find-records.ts'
import { type StoredMessage, storedType, toStoredMessage } from './stored-message.ts'
import { readTime } from './time.ts'

/** A dead letter: the message with its error and history. */
export type DeadLetterMessage = Omit<StoredMessage, 'id'> & {
  /** Id of the dead letter, also for `after` of the next page. */
  readonly id: number
  /** Id of the message in the log. */
  readonly logId: number
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Number of attempts. */
  readonly attempts: number
  /** Error of the last attempt. */
  readonly error: FailureRecord
  /** Failed attempts, oldest first. */
  readonly history: readonly FailedAttempt[]
  /** Time at which it was dead-lettered. */
  readonly deadAt: Date
}

/** Selects the dead letters that match every given field. Selecting all of a topic requires `all: true`. */
export type DeadLetterFilter = {
  /** Only dead letters with these ids. */
  ids?: readonly number[]
  /** Only dead letters of this group. */
  group?: string
  /** Only dead letters with this error name, such as `'SmtpError'`. */
  errorName?: string
  /** Only dead letters whose error is of this kind, as in `deadLetterErrors`. */
  fingerprint?: string
  /** Only dead letters with this message key. */
  key?: string
  /** Only dead letters with this payload type. */
  type?: string
  /** Only dead letters from this time on. */
  since?: Date | number
  /** Only dead letters before this time. */
  until?: Date | number
  /** Select every dead letter of the topic. */
  all?: true
  /** Maximum number of dead letters, oldest first (default unlimited). */
  limit?: number
}

/** Options of `deadLetters`. */
export type DeadLetterOptions = {
  /** Only dead letters of this group. */
  group?: string
  /** Only dead letters whose error is of this kind, as in `deadLetterErrors`. */
  fingerprint?: string
  /** Only dead letters with this error name, such as `'SmtpError'`. */
  errorName?: string
  /** Only dead letters with this message key. */
  key?: string
  /** Only dead letters from this time on. */
  since?: Date | number
  /** Only dead letters before this time. */
  until?: Date | number
  /** Id of the last dead letter of the previous page. */
  after?: number
  /** Maximum number of dead letters (default 100). */
  limit?: number
}

/** A page of dead letters. */
export type DeadLetterPage = {
  /** Dead letters of the page. */
  readonly deadLetters: readonly DeadLetterMessage[]
  /**
   * Value of `after` for the next page; null on the last page. With a `fingerprint`, a page may be short or empty and
   * still have a next one: a call examines at most 100 000 dead letters.
   */
  readonly next: number | null
}

/** Number of dead letters that a filter matches. */
export type DeadLetterPreview = {
  /** Number of matching dead letters. */
  readonly matching: number
  /** Those whose message is no longer in the log. A redrive leaves them. */
  readonly gone: number
  /** Those whose group is not live. A redrive leaves them. */
  readonly orphaned: number
}

const FINGERPRINT = /^[0-9a-f]{16}$/
/** Dead letters of one transaction. */
const PAGE = 1_000

export async function deadLetters(
  runtime: Runtime,
  name: string,
  options?: DeadLetterOptions,
): Promise<DeadLetterMessage[]> {
  return [...(await readPage(runtime, name, 'deadLetters', new Options('deadLetters', options), {})).deadLetters]
}

export async function deadLetterPage(
  runtime: Runtime,
  name: string,
  values?: DeadLetterOptions & ByteOptions,
): Promise<DeadLetterPage> {
  const options = new Options('deadLetterPage', values)
  return await readPage(runtime, name, 'deadLetterPage', options, readBounds(options))
}

async function readPage(
  runtime: Runtime,
  name: string,
  what: string,
  options: Options,
  bounds: ByteBounds,
): Promise<DeadLetterPage> {
  const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  const { fingerprint, ...filters } = readFilters(options, what)
  options.done()
  const topic = await findTopic(runtime, name)
  const selection = { ...given(filters), ...ofGroup(topic, filters.group) }
  if (fingerprint === undefined) return await readMatching(runtime, topic, { ...selection, after, limit }, bounds)
  const { ids, last } = await findOfKind(runtime, topic, { ...selection, fingerprint }, { after, limit })
  if (ids.length === 0) return { deadLetters: [], next: last }
  const page = await readMatching(runtime, topic, { ids, after, limit }, bounds)
  return { ...page, next: page.deadLetters.length < ids.length ? (page.next ?? last) : last }
}

async function readMatching(
  runtime: Runtime,
  topic: TopicRecord,
  query: DeadLetterSelection,
  bounds: ByteBounds,
): Promise<DeadLetterPage> {
  const letters = await runtime.store.deadLetters.list(topic, { ...query, ...bounds })
  const last = letters.at(-1)?.id
  // A short page is the last one, unless bytes have ended it: then one more look says.
  const isCut = async (): Promise<boolean> => {
    if (bounds.maxBytes === undefined || last === undefined) return false
    const others = { ...query, after: last, limit: 1, maxPayloadBytes: 0 }
    return (await runtime.store.deadLetters.list(topic, others)).length > 0
  }
  const isMore = letters.length === query.limit || (await isCut())
  return { deadLetters: letters.map(letter => toMessage(topic, letter)), next: isMore ? (last ?? null) : null }
}

export async function deadLetter(
  runtime: Runtime,
  name: string,
  id: number,
  values?: Pick<ByteOptions, 'maxPayloadBytes'>,
): Promise<DeadLetterMessage | undefined> {
  const options = new Options('deadLetter', values)
  const bounds = readBounds(options)
  options.done()
  if (!Number.isSafeInteger(id)) throw new ConfigError('deadLetter.id', id, 'the id of a dead letter')
  const topic = await findTopic(runtime, name)
  const letter = await runtime.store.deadLetters.find(topic, id, bounds)
  return letter && toMessage(topic, letter)
}

/** Back into delivery, as if they had never failed. What can't be stays, and is counted. */
export async function redrive(runtime: Runtime, name: string, filter: DeadLetterFilter): Promise<Redriven> {
  const { selection, most } = parseFilter('redrive', filter)
  const topic = await findTopic(runtime, name)
  const sums = { redriven: 0, gone: 0, orphaned: 0 }
  for await (const each of selections(runtime, topic, selection)) {
    sums.redriven += await redriveAll(runtime, topic, each, most - sums.redriven)
    // Counted once, not with every page: of many that stay, each page would look at all again.
    const { gone, orphaned } = await runtime.store.deadLetters.undeliverable(topic, { ...each, limit: 0 })
    sums.gone += gone
    sums.orphaned += orphaned
    if (sums.redriven >= most) break
  }
  runtime.instrumentation.emit('redriven', { topic: name, count: sums.redriven })
  runtime.wakeHub.wake(topic.id)
  runtime.store.hint(topic.id)
  return sums
}

async function redriveAll(runtime: Runtime, topic: TopicRecord, selection: Matching, most: number): Promise<number> {
  let redriven = 0
  for (let after: number | null = 0; after !== null && redriven < most; ) {
    const limit = Math.min(PAGE, most - redriven)
    const page: RedrivenPage = await runtime.store.deadLetters.redrive(topic, { ...selection, after, limit })
    redriven += page.redriven
    after = page.last
  }
  return redriven
}

/** For good. */
export async function discard(runtime: Runtime, name: string, filter: DeadLetterFilter): Promise<number> {
  const { selection, most } = parseFilter('discard', filter)
  const topic = await findTopic(runtime, name)
  let discarded = 0
  for await (const each of selections(runtime, topic, selection)) {
    for (;;) {
      const limit = Math.min(PAGE, most - discarded)
      const count = limit === 0 ? 0 : await runtime.store.deadLetters.discard(topic, { ...each, limit })
      discarded += count
      if (count < limit || discarded >= most) break
    }
    if (discarded >= most) break
  }
  runtime.instrumentation.emit('discarded', { topic: name, count: discarded })
  return discarded
}

/** What a redrive or a discard would find. */
export async function previewDeadLetters(
  runtime: Runtime,
  name: string,
  filter: DeadLetterFilter,
): Promise<DeadLetterPreview> {
  const { selection, most } = parseFilter('previewDeadLetters', filter)
  const topic = await findTopic(runtime, name)
  const sums = { matching: 0, gone: 0, orphaned: 0 }
  for await (const each of selections(runtime, topic, selection)) {
    const found = await runtime.store.deadLetters.undeliverable(topic, { ...each, limit: 0 })
    sums.matching += found.matching
    sums.gone += found.gone
    sums.orphaned += found.orphaned
  }
  return { ...sums, matching: Math.min(sums.matching, most) }
}

type Matching = Omit<DeadLetterSelection, 'limit' | 'after'>

/** The database does not know kinds of errors: their dead letters are searched first, and selected by id. */
async function* selections(
  runtime: Runtime,
  topic: TopicRecord,
  { fingerprint, ...selection }: Matching & { readonly fingerprint?: string },
): AsyncGenerator<Matching, void, undefined> {
  const stored = { ...selection, ...ofGroup(topic, selection.group) }
  if (fingerprint === undefined) return yield stored
  for (let after: number | null = 0; after !== null; ) {
    const found: OfKind = await findOfKind(runtime, topic, { ...stored, fingerprint }, { after, limit: PAGE })
    if (found.ids.length > 0) yield { ids: found.ids }
    after = found.last
  }
}

function parseFilter(
  what: string,
  value: unknown,
): { selection: Matching & { readonly fingerprint?: string }; most: number } {
  const options = new Options(what, value)
  const ids = options.value('ids')
  if (ids !== undefined && !(Array.isArray(ids) && ids.every(id => Number.isSafeInteger(id)))) {
    throw new ConfigError(`${what}.ids`, ids, 'an array of ids of dead letters')
  }
  const type = storedType(options.string('type', undefined))
  const filters = { ids: ids as readonly number[] | undefined, ...readFilters(options, what), type }
  const all = options.boolean('all', false)
  const most = options.integer('limit', Number.MAX_SAFE_INTEGER, { min: 1, max: Number.MAX_SAFE_INTEGER })
  options.done()
  const selection = given(filters)
  if (Object.keys(selection).length === 0 && !all) {
    throw new ConfigError(what, value, 'ids or another filter; { all: true } for every dead letter of the topic')
  }
  return { selection, most }
}

function readFilters(options: Options, what: string) {
  return {
    group: options.groupName('group'),
    fingerprint: readFingerprint(options, what),
    errorName: options.string('errorName', undefined),
    key: options.string('key', undefined),
    since: readTime(options, what, 'since'),
    until: readTime(options, what, 'until'),
  }
}

function readFingerprint(options: Options, what: string): string | undefined {
  const value = options.string('fingerprint', undefined)
  if (value === undefined || FINGERPRINT.test(value)) return value
  throw new ConfigError(`${what}.fingerprint`, value, '16 hexadecimal digits, as deadLetterErrors tells them')
}

const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

const ofGroup = (topic: TopicRecord, group: string | undefined): { group?: string } =>
  group === undefined ? {} : { group: storedName(topic, group) }

const toMessage = (topic: TopicRecord, { id, message, deadAt, ...letter }: DeadLetter): DeadLetterMessage => ({
  ...letter,
  ...toStoredMessage(topic, message),
  id,
  logId: message.id,
  deadAt: new Date(deadAt),
})
