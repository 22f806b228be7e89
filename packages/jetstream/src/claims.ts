import { SubscriptionGoneError } from 'tidemark'
import type { ClaimRecord, LeaseHolder, Leases, RetryRecord, SubscriptionRecord, TopicRecord } from 'tidemark/store'
import { Slots } from './group/bitmap.ts'
import { type GroupDocument, type LiveLease, liveLeases, type Retry } from './group/document.ts'
import { heldBy } from './group/expiry.ts'
import { decodePage } from './group/pages.ts'
import { formatToken, parseToken } from './group/token.ts'
import { GroupGone } from './loaded-facts.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { orGone } from './refusals.ts'
import type { Steward } from './steward.ts'
import type { TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'

/** What operators see of leases and retries. */
export function jetStreamClaims(
  ns: Namespace,
  topics: TopicStore,
  steward: Steward,
): Pick<Leases, 'list' | 'holders' | 'release' | 'retries'> {
  const groupOf = async (topic: TopicRecord, subscription: SubscriptionRecord): Promise<GroupDocument> => {
    const ref = { topic: { id: topic.id, uid: topic.uid }, id: subscription.id }
    const { value } = await orGone(topic, subscription, steward.read(ref))
    if (value.uid !== subscription.uid) throw new SubscriptionGoneError(topic.name, subscription.group)
    return value
  }
  return {
    list: async (topic, { subscriptionId, consumer, after, limit, named }) => {
      const { value } = await topics.read(topic)
      const groups = (await topics.groups(value)).map(group => group.value)
      const all = groups
        .filter(({ id }) => subscriptionId === undefined || id === subscriptionId)
        .flatMap(group => liveLeases(group).map(each => ({ ...each, group, token: tokenOf(group, each) })))
        .filter(({ lease }) => consumer === undefined || lease.consumer === consumer)
        .filter(
          ({ lease, token }) => after === undefined || compare(placeOf(lease), token, after.place, after.token) > 0,
        )
        .toSorted((a, b) => compare(placeOf(a.lease), a.token, placeOf(b.lease), b.token))
      return await Promise.all(all.slice(0, limit).map(each => toClaim(ns, value, each, named)))
    },
    holders: async (topic, subscription) => holdersOf(await groupOf(topic, subscription)),
    release: async (topic, token) => {
      const id = parseToken(token)?.subscription
      const { value } = await topics.read(topic)
      if (id === undefined || value.groups[id] === undefined) return undefined
      const op = { kind: 'release', token, maxAttempts: topic.config.maxAttempts } as const
      const ref = { topic: { id: topic.id, uid: topic.uid }, id }
      try {
        return (await steward.change<'release'>(ref, op)) ?? undefined
      } catch (error) {
        if (error instanceof GroupGone) return undefined
        throw error
      }
    },
    retries: async (topic, subscription, { after, limit, maxBytes = Number.MAX_SAFE_INTEGER }) => {
      const all = await firstRetries(ns, topic, await groupOf(topic, subscription), { after, limit })
      const records: RetryRecord[] = []
      let bytes = 0
      for (const retry of all.slice(0, limit)) {
        const record = await toRetryRecord(ns, topic, retry)
        bytes += JSON.stringify(retry.history).length + (record.key?.length ?? 0)
        if (records.length > 0 && bytes > maxBytes) break
        records.push(record)
      }
      return records
    },
  }
}

type Found = {
  readonly number: number
  readonly lease: LiveLease
  readonly group: GroupDocument
  readonly token: string
}

const tokenOf = (
  { id }: GroupDocument,
  { number, lease }: { readonly number: number; readonly lease: LiveLease },
): string => formatToken({ subscription: id, number, size: lease.size, nonce: lease.nonce })

const placeOf = ({ claimedAt }: LiveLease): string => String(claimedAt).padStart(15, '0')

function compare(place: string, token: string, otherPlace: string, otherToken: string): number {
  if (place !== otherPlace) return place < otherPlace ? -1 : 1
  return token === otherToken ? 0 : token < otherToken ? -1 : 1
}

async function toClaim(
  ns: Namespace,
  topic: TopicDocument,
  { lease, group, token }: Found,
  most: number,
): Promise<ClaimRecord> {
  const open = await unsettled(ns, topic, group, lease)
  const ids = open.map(({ id }) => id)
  const first = open.slice(0, most)
  const messages = await ns.reader(topic).messages(first.map(({ id }) => id))
  return {
    token,
    group: group.group,
    consumer: lease.consumer,
    size: lease.size,
    claimedAt: lease.claimedAt,
    deadline: lease.deadline,
    place: placeOf(lease),
    unsettled: open.length,
    firstId: ids.length === 0 ? null : Math.min(...ids),
    lastId: ids.length === 0 ? null : Math.max(...ids),
    messages: first.map(({ id, version, attempts }, place) => ({
      id,
      salt: messages[place]?.salt ?? null,
      messageId: messages[place]?.messageId ?? null,
      version,
      attempt: attempts,
    })),
  }
}

/** Unsettled messages of a live lease. */
export async function unsettled(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  group: GroupDocument,
  lease: LiveLease,
): Promise<readonly Retry[]> {
  const page = lease.page === undefined ? [] : await readPage(ns, topic, group, lease.page)
  const slots = new Slots(lease.settled, lease.size)
  return heldBy({ page: () => page }, lease).filter((_, slot) => !slots.has(slot))
}

/** By id. Pages that begin behind the last one that is wanted are not read. */
export async function firstRetries(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  group: GroupDocument,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly Retry[]> {
  const take = (retries: readonly Retry[]): Retry[] =>
    retries
      .filter(({ id }) => id > after)
      .toSorted((a, b) => a.id - b.id)
      .slice(0, limit)
  let found = take(group.retries)
  for (const { page, low, high } of group.pages.toSorted((a, b) => a.low - b.low)) {
    const last = found.length < limit ? undefined : found.at(-1)
    if (last !== undefined && low > last.id) break
    if (high > after) found = take([...found, ...(await readPage(ns, topic, group, page))])
  }
  return found
}

/** A page that was dropped since the document was read is empty. */
async function readPage(
  ns: Namespace,
  topic: Pick<TopicDocument, 'id' | 'uid'>,
  group: GroupDocument,
  page: number,
): Promise<readonly Retry[]> {
  const key = topicKey(topic)
  const stored = await ns.client.last(ns.names.groupStream(key), ns.names.page(key, group.id, page))
  return stored === null || stored.data.length === 0 ? [] : decodePage(stored.data)
}

function holdersOf(group: GroupDocument): LeaseHolder[] {
  const byConsumer = Map.groupBy(Object.values(group.leases), ({ consumer }) => consumer)
  return [...byConsumer]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([consumer, held]) => {
      const deadlines = held.flatMap(({ deadline }) => deadline ?? [])
      const inFlight = held.reduce((sum, { size, settled }) => sum + size - new Slots(settled, size).count, 0)
      return { consumer, inFlight, until: deadlines.length === 0 ? null : Math.min(...deadlines) }
    })
}

async function toRetryRecord(ns: Namespace, topic: TopicRecord, retry: Retry): Promise<RetryRecord> {
  const message = await ns.reader(topic).message(retry.id)
  return {
    id: retry.id,
    salt: message?.salt ?? null,
    messageId: message?.messageId ?? null,
    key: message?.key ?? null,
    type: message?.type ?? null,
    createdAt: message?.createdAt ?? null,
    attempts: retry.attempts,
    dueAt: retry.due,
    suspect: retry.suspect,
    history: retry.history,
  }
}
