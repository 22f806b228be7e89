import type { Tidemark } from 'tidemark'

type Page = { readonly after: number; readonly limit: number }

/** Ids of letters that were not removed, ascending, whether or not they are taken. */
export type UnfinishedLetters = (page: Page) => Promise<readonly number[]>

/** As the topic has recorded it. */
export const unfinishedByReference =
  ({ admin }: Tidemark, topic: string): UnfinishedLetters =>
  async page => {
    const waiting = await admin.completion(topic, { unfinished: true, ...page })
    return waiting.map(({ id }) => id)
  }

/**
 * Where a topic is tracked by offset: what the group has claimed, what it retries, and what comes after its cursor. A letter
 * moves from the log into a claim, and between claims and retries, so they are read in this order, and the claims again.
 */
export const unfinishedByOffset =
  (topics: Tidemark, topic: string, group: string): UnfinishedLetters =>
  async ({ after, limit }) => {
    const groups = await topics.admin.groups(topic)
    const cursor = groups.find(each => each.group === group)?.cursor ?? 0
    const claimed = await claimedIds(topics, topic, group)
    const retries = await topics.admin.retries(topic, { group, after, limit })
    const again = await claimedIds(topics, topic, group)
    const waiting = await idsIn(topics, topic, { after: Math.max(cursor, after), limit })
    const all = new Set([...claimed, ...again, ...retries.map(({ id }) => id), ...waiting])
    return [...all]
      .filter(id => id > after)
      .sort((a, b) => a - b)
      .slice(0, limit)
  }

/** The most that one answer names. */
const NAMED = 1_000

async function claimedIds(topics: Tidemark, topic: string, group: string): Promise<number[]> {
  const found: number[] = []
  for (let after: string | undefined; ; ) {
    const { claims, next } = await topics.admin.claims(topic, { group, messages: NAMED, ...(after && { after }) })
    for (const { messages, unsettled, lastId } of claims) {
      const ids = messages.map(({ id }) => id)
      found.push(...ids)
      const last = ids.at(-1)
      if (last === undefined || lastId === null || unsettled <= ids.length) continue
      found.push(...(await idsIn(topics, topic, { after: last, before: lastId + 1, limit: unsettled - ids.length })))
    }
    if (next === null) return found
    after = next
  }
}

/** Of messages in the log, without their payloads. */
async function idsIn(topics: Tidemark, topic: string, range: Page & { readonly before?: number }): Promise<number[]> {
  const found: number[] = []
  for (let after: number | null = range.after; after !== null && found.length < range.limit; ) {
    const limit = Math.min(NAMED, range.limit - found.length)
    const page = await topics.admin.browse(topic, { ...range, after, limit, maxPayloadBytes: 0 })
    found.push(...page.messages.map(({ id }) => id))
    after = page.next
  }
  return found
}
