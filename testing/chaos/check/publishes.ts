/** Invariants 1 and 5: what was acknowledged as published arrives everywhere, and nothing else does. */
import { isLost, isRewound, isStored } from './excuses.ts'
import type { FinalGroup, History, Publish, Story } from './history.ts'
import { nameOf, type Violation } from './violation.ts'

type Stories = ReadonlyMap<string, readonly Story[]>

const placeOf = ({ topic, group }: { readonly topic: string; readonly group: string }, key: string): string =>
  JSON.stringify([topic, group, key])

export function checkPublishes(history: History): Violation[] {
  const stories: Stories = Map.groupBy(history.stories, story => placeOf(story, story.key))
  return [
    ...history.groups.flatMap(group => [...findLost(history, group, stories)]),
    ...findInvented(history),
    ...findStoredTwice(history),
    ...findReusedIds(history),
    ...findTornBatches(history),
  ]
}

/** A publish whose outcome is unknown counts as stored once any group has seen the message. */
function* findLost(history: History, group: FinalGroup, stories: Stories): Generator<Violation> {
  const dead = new Set(group.deadLetters.map(({ key }) => key))
  const ofTopic = history.stories.filter(({ topic }) => topic === group.topic)
  const seen = new Set(ofTopic.filter(story => isStored(history, story)).map(({ key }) => key))
  // What was seen may have been stored by a later call of the same publish, whose commit was lost.
  const mayBeGone = new Set(
    history.publishes
      .filter(each => each.outcome !== 'failed' && isLost(history, each.topic, each))
      .map(({ key }) => key),
  )
  for (const publish of history.publishes) {
    if (publish.topic !== group.topic || dead.has(publish.key)) continue
    if (isLost(history, publish.topic, publish)) continue
    if (publish.outcome === 'failed') continue
    if (publish.outcome === 'unknown' && (!seen.has(publish.key) || mayBeGone.has(publish.key))) continue
    const told = stories.get(placeOf(group, publish.key)) ?? []
    if (told.some(story => isSettled(history, story))) continue
    const outcome = publish.outcome === 'ok' ? 'was acknowledged as published' : 'was delivered to another group'
    const problem = told.length === 0 ? 'never delivered' : 'neither acknowledged nor dead-lettered'
    yield {
      rule: 'lost',
      what: `${nameOf({ ...group, key: publish.key })} ${outcome}, and ${problem}`,
      key: publish.key,
    }
  }
}

/** Its ack succeeded or may have. A redrive may also have taken it out of the dead letters and ended unseen. */
const isSettled = (history: History, story: Story): boolean =>
  story.settlements.some(({ what, outcome }) => what === 'ack' && outcome !== 'failed') ||
  story.deliveries.some(({ at }) => isDiscarded(history, story, at))

const isDiscarded = ({ operations }: History, { topic, group }: Story, at: number): boolean =>
  operations.some(each => each.verb === 'discard' && each.topic === topic && each.group === group && each.to >= at)

function findInvented({ publishes, stories }: History): Violation[] {
  const published = Map.groupBy(publishes, ({ key }) => key)
  return stories.flatMap((story): Violation[] => {
    const calls = published.get(story.key) ?? []
    // One with a messageId of its own is repeated while its outcome is unknown; that the last call failed says nothing.
    const problem = whyInvented(story, calls.find(({ outcome }) => outcome !== 'failed') ?? calls[0])
    return problem === undefined ? [] : [{ rule: 'invented', what: `${nameOf(story)} ${problem}`, key: story.key }]
  })
}

function whyInvented({ topic, messageId }: Story, publish: Publish | undefined): string | undefined {
  if (publish === undefined) return 'was delivered, and nobody published it'
  if (publish.topic !== topic) return `was published to ${publish.topic}`
  if (publish.outcome === 'failed') return 'was delivered, and its publish had failed'
  if (publish.messageId !== undefined && publish.messageId !== messageId) {
    return `was published as ${publish.messageId} and delivered as ${messageId}`
  }
  return undefined
}

function findStoredTwice(history: History): Violation[] {
  const ids = Map.groupBy(history.stories, ({ key }) => key)
  return [...ids].flatMap(([key, stories]): Violation[] => {
    const different = [...new Set(stories.map(({ messageId }) => messageId))]
    return different.length < 2
      ? []
      : [{ rule: 'stored twice', what: `${key} is stored as ${different.join(' and ')}`, key }]
  })
}

function findReusedIds({ publishes, stories }: History): Violation[] {
  const named = [...publishes, ...stories].filter(each => each.messageId !== undefined)
  return [...Map.groupBy(named, ({ topic, messageId }) => `${topic} ${messageId}`)].flatMap(
    ([id, all]): Violation[] => {
      const keys = [...new Set(all.map(({ key }) => key))]
      const what = `message id ${id} names ${keys.join(' and ')}`
      return keys.length < 2 ? [] : [{ rule: 'message id reused', what, key: keys[0] ?? '' }]
    },
  )
}

/** One publish is one transaction: all of its messages are stored, or none. */
function findTornBatches(history: History): Violation[] {
  const stored = history.stories.filter(story => isStored(history, story))
  const seen = new Set(stored.map(({ topic, key }) => `${topic} ${key}`))
  const calls = Map.groupBy(history.publishes, ({ pid, call }) => `${pid}/${call}`)
  return [...calls.values()].flatMap((batch): Violation[] => {
    const [first] = batch
    if (first === undefined || first.outcome === 'ok' || batch.length < 2) return []
    if (isLost(history, first.topic, first) || isRewound(history, { topic: first.topic, group: '' }, first)) return []
    const there = batch.filter(({ topic, key }) => seen.has(`${topic} ${key}`)).length
    const what = `${there} of the ${batch.length} messages of one batch on ${first.topic} were delivered`
    return there === 0 || there === batch.length ? [] : [{ rule: 'torn batch', what, key: first.key }]
  })
}
