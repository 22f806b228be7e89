import { setImmediate as nextTurn } from 'node:timers/promises'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { DeadLetterSelection, LetterError } from '../stores/dead-letters.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { findTopic, storedName } from './find-records.ts'
import { kindOf } from './fingerprint.ts'

/** Options of `deadLetterErrors`. */
export type DeadLetterErrorOptions = {
  /** Only dead letters of this topic. */
  topic?: string
  /** Only dead letters of this group of the topic. */
  group?: string
}

/** Dead letters by kind of error. */
export type DeadLetterErrors = {
  /** Kinds of errors, the latest first. */
  readonly errors: readonly DeadLetterError[]
  /** Number of dead letters that were examined: the newest 100 000 at most. */
  readonly examined: number
  /** Whether these were all. */
  readonly complete: boolean
}

/** Dead letters of a group with the same kind of error. */
export type DeadLetterError = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Identifies the kind of error, for `fingerprint` of the other calls. */
  readonly fingerprint: string
  /** Name and message of the error, with numbers, ids and quoted text replaced by `<…>`. */
  readonly error: string
  /** Number of dead letters. */
  readonly count: number
  /** Time of the first. */
  readonly firstAt: Date
  /** Time of the last. */
  readonly lastAt: Date
  /** The last of them. */
  readonly sample: {
    /** Id of the dead letter. */
    readonly id: number
    /** Key of the message, or null. */
    readonly key: string | null
    /** Name of the error. */
    readonly name: string
    /** Whole message of the error. */
    readonly message: string
  }
  /** Number in each of the last 60 minutes, the current one last. */
  readonly perMinute: readonly number[]
}

const PAGE = 5_000
const MOST_EXAMINED = 100_000
const MINUTES = 60
const MINUTE_MS = 60_000

/** From the newest back. Reads no payloads. */
export async function deadLetterErrors(runtime: Runtime, given?: DeadLetterErrorOptions): Promise<DeadLetterErrors> {
  const options = new Options('deadLetterErrors', given)
  const name = options.string('topic', undefined)
  const group = options.groupName('group')
  options.done()
  runtime.assertOpen()
  const topic = name === undefined ? undefined : await findTopic(runtime, name)
  const ofGroup = group === undefined ? undefined : topic === undefined ? group : storedName(topic, group)
  const kinds = new Kinds()
  let beyond: number | undefined
  let isComplete = false
  while (!isComplete && kinds.examined < MOST_EXAMINED) {
    const page = await runtime.store.deadLetters.errors({
      ...(topic !== undefined && { topic }),
      ...(ofGroup !== undefined && { group: ofGroup }),
      ...(beyond !== undefined && { beyond }),
      newestFirst: true,
      limit: PAGE,
    })
    kinds.add(page)
    beyond = page.at(-1)?.id
    isComplete = page.length < PAGE
    await nextTurn()
  }
  return { errors: kinds.all(), examined: kinds.examined, complete: isComplete }
}

type Found = { readonly newest: LetterError; readonly error: string; count: number; firstAt: number; minutes: number[] }

/** Errors by topic, group and kind. */
class Kinds {
  examined = 0
  readonly #found = new Map<string, Found & { readonly fingerprint: string }>()
  readonly #thisMinute = Math.floor(Date.now() / MINUTE_MS)

  add(page: readonly LetterError[]): void {
    for (const letter of page) {
      this.examined++
      const { fingerprint, error } = kindOf(letter.error)
      const key = `${letter.topic}/${letter.group}/${fingerprint}`
      const fresh = { newest: letter, error, fingerprint, count: 0, firstAt: letter.deadAt, minutes: [] }
      const found = this.#found.get(key) ?? { ...fresh, minutes: Array.from({ length: MINUTES }, () => 0) }
      found.count++
      found.firstAt = Math.min(found.firstAt, letter.deadAt)
      const ago = Math.max(0, this.#thisMinute - Math.floor(letter.deadAt / MINUTE_MS))
      const place = MINUTES - 1 - ago
      if (place >= 0) found.minutes[place] = (found.minutes[place] ?? 0) + 1
      this.#found.set(key, found)
    }
  }

  all(): DeadLetterError[] {
    return [...this.#found.values()]
      .toSorted((one, other) => other.newest.deadAt - one.newest.deadAt)
      .map(({ newest, error, fingerprint, count, firstAt, minutes }) => ({
        ...{ topic: newest.topic, group: newest.group, fingerprint, error, count },
        firstAt: new Date(firstAt),
        lastAt: new Date(newest.deadAt),
        sample: { id: newest.id, key: newest.key, name: newest.error.name, message: newest.error.message },
        perMinute: minutes,
      }))
  }
}

/** Dead letters of one kind. */
export type OfKind = {
  /** Their ids. */
  readonly ids: readonly number[]
  /** Id at which the search continues; null: there are no more. */
  readonly last: number | null
}

/** Looks for dead letters with this kind of error, from the oldest on. */
export async function findOfKind(
  runtime: Runtime,
  topic: TopicRecord,
  { fingerprint, ...selection }: Omit<DeadLetterSelection, 'limit' | 'after'> & { readonly fingerprint: string },
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<OfKind> {
  const ids: number[] = []
  let beyond = after
  for (let examined = 0; examined < MOST_EXAMINED; ) {
    const query = { ...selection, topic, beyond, newestFirst: false, limit: PAGE }
    const page = await runtime.store.deadLetters.errors(query)
    for (const { id, error } of page) {
      examined++
      beyond = id
      if (kindOf(error).fingerprint === fingerprint) ids.push(id)
      if (ids.length === limit) return { ids, last: id }
    }
    if (page.length < PAGE) return { ids, last: null }
    await nextTurn()
  }
  return { ids, last: beyond }
}
