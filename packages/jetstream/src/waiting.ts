import { idOf, placeOf, seqOf } from './entry.ts'
import { nextSeq } from './group/document.ts'
import { lastSeq } from './log.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import type { TopicDocument } from './topic-document.ts'

/** Messages of a part of the log. */
export type Waiting = {
  readonly count: number
  readonly isExact: boolean
  readonly oldestAt: number | null
  readonly firstId: number | null
  readonly lastId: number | null
}

/** Entries that are counted one by one; the others are estimated from these. */
const MOST_COUNTED = 512

/** Messages after an id, up to another. Exact if they are in few entries, else estimated. */
export async function waitingAfter(
  ns: Namespace,
  topic: TopicDocument,
  after: number,
  upTo = Number.MAX_SAFE_INTEGER,
): Promise<Waiting> {
  const from = Math.max(after, topic.gone - 1)
  let count = 0
  let counted = 0
  let last = 0
  let oldestAt: number | null = null
  let firstId: number | null = null
  let lastId: number | null = null
  for await (const entry of ns.reader(topic).walk(nextSeq(from))) {
    if (entry.seq > seqOf(upTo)) return { count, isExact: true, oldestAt, firstId, lastId }
    const low = seqOf(from) === entry.seq ? placeOf(from) + 1 : 0
    const high = seqOf(upTo) === entry.seq ? Math.min(entry.count, placeOf(upTo) + 1) : entry.count
    if (high > low) {
      count += high - low
      oldestAt ??= entry.at
      firstId ??= idOf(entry.seq, low)
      lastId = idOf(entry.seq, high - 1)
    }
    last = entry.seq
    if (++counted < MOST_COUNTED) continue
    const rest = await entriesBetween(ns, topic, last, Math.min(seqOf(upTo), await lastSeq(ns, topic)))
    return { count: Math.round(count + (rest * count) / counted), isExact: rest === 0, oldestAt, firstId, lastId }
  }
  return { count, isExact: true, oldestAt, firstId, lastId }
}

/** Of the sequences in between, markers of messageIds take some: the share is that of the whole stream. */
async function entriesBetween(ns: Namespace, topic: TopicDocument, first: number, last: number): Promise<number> {
  if (last <= first) return 0
  const key = topicKey(topic)
  const subject = ns.names.entries(key)
  const { state } = await ns.client.streams.info(ns.names.logStream(key), { subjects_filter: subject })
  const share = state.messages === 0 ? 1 : (state.subjects?.[subject] ?? 0) / state.messages
  return Math.round((last - first) * share)
}
