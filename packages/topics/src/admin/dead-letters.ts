import { ConfigError } from '../errors.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { ByteBounds } from '../stores/byte-bounds.ts'
import type { DeadLetter, DeadLetterSelection, Redriven, RedrivenPage } from '../stores/dead-letters.ts'
import type { FailedAttempt, FailureRecord } from '../stores/failure-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ByteOptions, readBounds } from './byte-options.ts'
import { findTopic, storedName } from './find-records.ts'
import { type StoredMessage, storedType, toStoredMessage } from './stored-message.ts'
import { readTime } from './time.ts'

/** A dead letter: the message with its error and history. */
export type DeadLetterMessage = Omit<StoredMessage, 'id'> & {
  /** Id of the dead letter, also for `after` of the next page. */
  readonly id: number
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
  /** Id of the last dead letter of the previous page. */
  after?: number
  /** Maximum number of dead letters (default 100). */
  limit?: number
}

/** A page of dead letters. */
export type DeadLetterPage = {
  /** Dead letters of the page. */
  readonly deadLetters: readonly DeadLetterMessage[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: number | null
}

/** Dead letters of one transaction. */
const PAGE = 1_000

export async function deadLetters(
  runtime: Runtime,
  name: string,
  given?: DeadLetterOptions,
): Promise<DeadLetterMessage[]> {
  return [...(await readPage(runtime, name, new Options('deadLetters', given), {})).deadLetters]
}

export async function deadLetterPage(
  runtime: Runtime,
  name: string,
  given?: DeadLetterOptions & ByteOptions,
): Promise<DeadLetterPage> {
  const options = new Options('deadLetterPage', given)
  return await readPage(runtime, name, options, readBounds(options))
}

async function readPage(runtime: Runtime, name: string, options: Options, bounds: ByteBounds): Promise<DeadLetterPage> {
  const group = options.groupName('group')
  const after = options.integer('after', 0, { min: 0, max: Number.MAX_SAFE_INTEGER })
  const limit = options.integer('limit', 100, { min: 1, max: 1_000 })
  options.done()
  const topic = await findTopic(runtime, name)
  const query = { after, limit, ...ofGroup(topic, group) }
  const letters = await runtime.store.deadLetters.list(topic, { ...query, ...bounds })
  const last = letters.at(-1)?.id
  // A short page is the last one, unless the byte limit ended it: then one more read tells.
  const isCut = async (): Promise<boolean> => {
    if (bounds.maxBytes === undefined || last === undefined) return false
    const others = { ...query, after: last, limit: 1, maxPayloadBytes: 0 }
    return (await runtime.store.deadLetters.list(topic, others)).length > 0
  }
  const isMore = letters.length === limit || (await isCut())
  return { deadLetters: letters.map(letter => toMessage(topic, letter)), next: isMore ? (last ?? null) : null }
}

export async function deadLetter(
  runtime: Runtime,
  name: string,
  id: number,
  given?: Pick<ByteOptions, 'maxPayloadBytes'>,
): Promise<DeadLetterMessage | undefined> {
  const options = new Options('deadLetter', given)
  const bounds = readBounds(options)
  options.done()
  if (!Number.isSafeInteger(id)) throw new ConfigError('deadLetter.id', id, 'the id of a dead letter')
  const topic = await findTopic(runtime, name)
  const letter = await runtime.store.deadLetters.find(topic, id, bounds)
  return letter && toMessage(topic, letter)
}

/**
 * Returns dead letters to delivery, as if they had never failed. Those that cannot be redriven stay, and are counted.
 */
export async function redrive(runtime: Runtime, name: string, filter: DeadLetterFilter): Promise<Redriven> {
  const { selection, most } = parseFilter('redrive', filter)
  const topic = await findTopic(runtime, name)
  let redriven = 0
  for (let after: number | null = 0; after !== null && redriven < most; ) {
    const limit = Math.min(PAGE, most - redriven)
    const page: RedrivenPage = await runtime.store.deadLetters.redrive(topic, {
      ...selection,
      ...ofGroup(topic, selection.group),
      after,
      limit,
    })
    redriven += page.redriven
    after = page.last
  }
  // Counted once and not with every page: each page would count all that stay again.
  const left = await runtime.store.deadLetters.undeliverable(topic, { ...selection, limit: 0 })
  runtime.instrumentation.emit('redriven', { topic: name, count: redriven })
  runtime.wakeHub.wake(topic.id)
  runtime.store.hint(topic.id)
  return { redriven, ...left }
}

/** Deletes them permanently. */
export async function discard(runtime: Runtime, name: string, filter: DeadLetterFilter): Promise<number> {
  const { selection, most } = parseFilter('discard', filter)
  const topic = await findTopic(runtime, name)
  let discarded = 0
  for (;;) {
    const limit = Math.min(PAGE, most - discarded)
    const count = await runtime.store.deadLetters.discard(topic, {
      ...selection,
      ...ofGroup(topic, selection.group),
      limit,
    })
    discarded += count
    if (count === limit && discarded < most) continue
    runtime.instrumentation.emit('discarded', { topic: name, count: discarded })
    return discarded
  }
}

function parseFilter(what: string, given: unknown): { selection: Omit<DeadLetterSelection, 'limit'>; most: number } {
  const options = new Options(what, given)
  const ids = options.value('ids')
  if (ids !== undefined && !(Array.isArray(ids) && ids.every(id => Number.isSafeInteger(id)))) {
    throw new ConfigError(`${what}.ids`, ids, 'an array of ids of dead letters')
  }
  const filters = {
    ids: ids as readonly number[] | undefined,
    group: options.groupName('group'),
    errorName: options.string('errorName', undefined),
    key: options.string('key', undefined),
    type: storedType(options.string('type', undefined)),
    since: readTime(options, what, 'since'),
    until: readTime(options, what, 'until'),
  }
  const all = options.boolean('all', false)
  const most = options.integer('limit', Number.MAX_SAFE_INTEGER, { min: 1, max: Number.MAX_SAFE_INTEGER })
  options.done()
  const selection = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
  if (Object.keys(selection).length === 0 && !all) {
    throw new ConfigError(what, given, 'ids or another filter; { all: true } for every dead letter of the topic')
  }
  return { selection, most }
}

const ofGroup = (topic: TopicRecord, group: string | undefined): { group?: string } =>
  group === undefined ? {} : { group: storedName(topic, group) }

const toMessage = (topic: TopicRecord, { id, message, deadAt, ...letter }: DeadLetter): DeadLetterMessage => ({
  ...letter,
  ...toStoredMessage(topic, message),
  id,
  deadAt: new Date(deadAt),
})
