import type {
  DeadLetter,
  DeadLetterSelection,
  DeadLetters,
  LetterError,
  TopicRecord,
  Undeliverable,
} from 'tidemark/store'
import { tombstone } from './group/change.ts'
import { isLive } from './group/document.ts'
import { deadLetterOf, decodeLetter, type Letter } from './letter.ts'
import { GroupGone } from './loaded-facts.ts'
import { sizeOf, withinBytes } from './log.ts'
import type { Namespace } from './namespace.ts'
import { Conflict } from './nats/errors.ts'
import type { Stored } from './nats/messages.ts'
import { topicKey } from './nats/names.ts'
import type { Steward } from './steward.ts'
import { findGroup } from './subscriptions.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'

const UNBOUNDED = Number.MAX_SAFE_INTEGER
const STEP = 256
/** Dead letters of one commit. */
const MOST_CHANGED = 400

/** Ids are sequences of the topic's stream. Topics share no ids, so that lists of several can be continued by id. */
const TOPICS = 4_096
const idOfLetter = ({ id }: Pick<TopicRecord, 'id'>, seq: number): number => seq * TOPICS + (id % TOPICS)

/** The dead letters of the topics. */
export function jetStreamDeadLetters(ns: Namespace, topics: TopicStore, steward: Steward): DeadLetters {
  return {
    list: async (topic, query) => {
      const { maxBytes = UNBOUNDED, maxPayloadBytes = UNBOUNDED, limit } = query
      const letters: DeadLetter[] = []
      let bytes = 0
      for await (const { id, letter } of matching(ns, (await topics.read(topic)).value, query)) {
        if (letters.length === limit) break
        const message = withinBytes(letter.message, maxPayloadBytes)
        bytes += (message.omittedBytes === undefined ? sizeOf(message) : 0) + JSON.stringify(letter.history).length
        if (letters.length > 0 && bytes > maxBytes) break
        letters.push({ ...deadLetterOf(id, letter), message })
      }
      return letters
    },
    errors: async ({ topic, beyond, newestFirst, limit, ...selection }) => {
      const of = topic ? [(await topics.read(topic)).value] : (await topics.list()).map(({ value }) => value)
      const found: LetterError[] = []
      for (const each of of) {
        const after = newestFirst ? undefined : beyond
        for await (const { id, letter } of matching(ns, each, {
          ...selection,
          limit,
          ...(after !== undefined && { after }),
        })) {
          if (newestFirst && beyond !== undefined && id >= beyond) continue
          const { group, error, deadAt, message } = letter
          found.push({ id, topic: each.name, group, key: message.key, error, deadAt })
        }
      }
      return found.toSorted((a, b) => (newestFirst ? b.id - a.id : a.id - b.id)).slice(0, limit)
    },
    find: async (topic, id, { maxPayloadBytes = UNBOUNDED } = {}) => {
      for await (const { letter } of matching(ns, (await topics.read(topic)).value, { ids: [id], limit: 1 })) {
        const found = deadLetterOf(id, letter)
        return { ...found, message: withinBytes(found.message, maxPayloadBytes) }
      }
      return undefined
    },
    redrive: async (topic, selection) => {
      const { value } = await topics.read(topic)
      const chosen: Found[] = []
      const liveGroups = await liveGroupsOf(topics, value)
      let last: number | null = null
      for await (const each of matching(ns, value, selection)) {
        if (chosen.length === Math.min(selection.limit, MOST_CHANGED)) {
          last = chosen.at(-1)?.id ?? null
          break
        }
        if (liveGroups.has(each.letter.group) && (await isKept(ns, value, each))) chosen.push(each)
      }
      return { redriven: await redrive(topics, steward, value, chosen), last }
    },
    undeliverable: async (topic, selection) => {
      const { value } = await topics.read(topic)
      const counts = { matching: 0, gone: 0, orphaned: 0 }
      const liveGroups = await liveGroupsOf(topics, value)
      for await (const each of matching(ns, value, { ...selection, limit: UNBOUNDED })) {
        counts.matching++
        if (!liveGroups.has(each.letter.group)) counts.orphaned++
        else if (!(await isKept(ns, value, each))) counts.gone++
      }
      return counts satisfies Undeliverable
    },
    discard: async (topic, selection) => {
      const { value } = await topics.read(topic)
      const chosen: Found[] = []
      for await (const each of matching(ns, value, selection)) {
        if (chosen.length === Math.min(selection.limit, MOST_CHANGED)) break
        chosen.push(each)
      }
      return await discard(ns, topics, steward, value, chosen)
    },
  }
}

type Found = { readonly id: number; readonly stored: Stored; readonly letter: Letter }

async function* matching(ns: Namespace, topic: TopicDocument, selection: DeadLetterSelection): AsyncGenerator<Found> {
  const { ids, after = -1 } = selection
  if (ids !== undefined) {
    for (const id of ids.toSorted((a, b) => a - b)) {
      if (id % TOPICS !== topic.id % TOPICS) continue
      const key = topicKey(topic)
      const stored = await ns.client.at(ns.names.groupStream(key), Math.floor(id / TOPICS))
      if (stored === null || !isLetter(ns, topic, stored) || id <= after) continue
      const letter = decodeLetter(stored.data)
      if (matches(letter, selection)) yield { id, stored, letter }
    }
    return
  }
  for await (const stored of storedLetters(ns, topic, Math.max(1, Math.floor(after / TOPICS)))) {
    const id = idOfLetter(topic, stored.seq)
    if (id <= after) continue
    const letter = decodeLetter(stored.data)
    if (matches(letter, selection)) yield { id, stored, letter }
  }
}

const isLetter = (ns: Namespace, topic: TopicDocument, { subject, data }: Stored): boolean =>
  data.length > 0 && subject.startsWith(ns.names.inGroups(topicKey(topic), 'd.'))

async function* storedLetters(ns: Namespace, topic: TopicDocument, from: number): AsyncGenerator<Stored> {
  const key = topicKey(topic)
  let seq = from
  for (;;) {
    const page = await ns.client.batch(ns.names.groupStream(key), {
      next_by_subj: ns.names.letters(key),
      seq,
      batch: STEP,
    })
    // That there is no more is believed from the leader: a replica may lag behind.
    const last = page.at(-1) ?? (await ns.client.next(ns.names.groupStream(key), ns.names.letters(key), seq))
    if (last === null) return
    for (const each of page.length > 0 ? page : [last]) if (isLetter(ns, topic, each)) yield each
    seq = last.seq + 1
  }
}

function matches({ group, error, message, deadAt }: Letter, selection: DeadLetterSelection): boolean {
  const { group: wanted, errorName, key, type, since, until } = selection
  return (
    (wanted === undefined || group === wanted) &&
    (errorName === undefined || error.name === errorName) &&
    (key === undefined || message.key === key) &&
    (type === undefined || message.type === type) &&
    (since === undefined || deadAt >= since) &&
    (until === undefined || deadAt < until)
  )
}

async function liveGroupsOf(topics: TopicStore, topic: TopicDocument): Promise<Set<string>> {
  const groups = (await topics.groups(topic)).map(({ value }) => value)
  return new Set(groups.filter(isLive).map(({ group }) => group))
}

/** A sequence that was used again belongs to another message. */
async function isKept(ns: Namespace, topic: TopicDocument, { letter }: Found): Promise<boolean> {
  if (letter.id < topic.gone) return false
  return (await ns.reader(topic).message(letter.id))?.salt === letter.salt
}

async function redrive(
  topics: TopicStore,
  steward: Steward,
  topic: TopicDocument,
  chosen: readonly Found[],
): Promise<number> {
  let redriven = 0
  for (const [name, letters] of Map.groupBy(chosen, ({ letter }) => letter.group)) {
    const group = await findGroup(topics, topic, name)
    if (group === undefined) continue
    const stored = letters.map(({ stored: { subject, seq }, letter: { id, version, history } }) => ({
      ...{ subject, seq },
      ...{ id, version, history },
    }))
    try {
      const ref = { topic: { id: topic.id, uid: topic.uid }, id: group.id }
      redriven += (await steward.change<'redrive'>(ref, { kind: 'redrive', letters: stored })).redriven
    } catch (error) {
      if (!(error instanceof GroupGone)) throw error
    }
  }
  return redriven
}

async function discard(
  ns: Namespace,
  topics: TopicStore,
  steward: Steward,
  topic: TopicDocument,
  chosen: readonly Found[],
): Promise<number> {
  let discarded = 0
  for (const [name, letters] of Map.groupBy(chosen, ({ letter }) => letter.group)) {
    const stored = letters.map(({ stored: { subject, seq } }) => ({ subject, seq }))
    const group = await findGroup(topics, topic, name)
    if (group === undefined) discarded += await discardOrphans(ns, topics, topic, name, stored)
    else {
      const ref = { topic: { id: topic.id, uid: topic.uid }, id: group.id }
      discarded += (await steward.change<'discard'>(ref, { kind: 'discard', letters: stored })).discarded
    }
  }
  return discarded
}

/** Dead letters of a group that was removed. */
async function discardOrphans(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicDocument,
  group: string,
  stored: readonly { readonly subject: string; readonly seq: number }[],
): Promise<number> {
  await topics.change(recordOf(topic), async current => {
    const left = Math.max(0, (current.letters[group] ?? 0) - stored.length)
    return { topic: { ...current, letters: { ...current.letters, [group]: left } }, result: null }
  })
  let discarded = 0
  for (const { subject, seq } of stored) {
    try {
      await ns.client.storeSurely([tombstone(subject, seq)])
      discarded++
    } catch (error) {
      // Somebody else has.
      if (!(error instanceof Conflict)) throw error
    }
  }
  return discarded
}
