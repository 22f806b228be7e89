/** Invariants 2, 3 and 4: one valid version, nothing after an ack, attempts that end in exactly one dead letter. */
import { CLAIM_LIFE, isClaimLost, isLost, isRewound } from './excuses.ts'
import type { Delivery, FinalGroup, History, Settlement, Span, Story } from './history.ts'
import { nameOf, type Violation } from './violation.ts'

export function checkDeliveries(history: History): Violation[] {
  return [
    ...history.stories.flatMap(story => [
      ...findAfterAck(history, story),
      ...findRepeats(history, story),
      ...findTooMany(history, story),
    ]),
    ...history.groups.flatMap(group => checkDeadLetters(history, group)),
  ]
}

/**
 * An ack succeeds only at the newest version, and no version comes after it. A version that is higher than an
 * acknowledged one is therefore a message delivered after its ack, or a stale ack that was accepted.
 */
function* findAfterAck(history: History, story: Story): Generator<Violation> {
  const acks = story.settlements.filter(({ what, outcome }) => what === 'ack' && outcome === 'ok')
  for (const ack of acks) {
    const later = story.deliveries.find(
      delivery => delivery.version > ack.version && !isExcused(history, story, ack, delivery),
    )
    if (later === undefined) continue
    const order = later.at > ack.to ? 'was delivered afterwards' : 'had been delivered before'
    const what = `${nameOf(story)}: the ack of version ${ack.version} succeeded, and version ${later.version} ${order}`
    yield { rule: 'delivered after its ack', what, key: story.key }
  }
}

function isExcused(history: History, story: Story, ack: Settlement, later: Delivery): boolean {
  const { at } = later
  const own = story.deliveries.findLast(each => each.version === ack.version && each.at <= ack.from)
  // Its version came after the higher one: the numbers began anew, perhaps after that was claimed and before it was noted.
  const isAnew = own !== undefined && own.at > at
  const span = { from: isAnew ? claimOf(story, later, own.at) : Math.min(ack.from, at), to: Math.max(ack.to, at) }
  return isRewound(history, story, span) || isLost(history, story.topic, span)
}

/**
 * The earliest time at which it may have been claimed, as far as it matters: nothing had ended the claim of a delivery
 * that could still be settled, before the next one.
 */
function claimOf({ settlements }: Story, { version, at }: Delivery, next: number): number {
  const isSettled = settlements.some(
    each => each.version === version && each.outcome === 'ok' && each.from >= at && each.from < next,
  )
  return isSettled ? at : at - CLAIM_LIFE
}

function* findRepeats(history: History, story: Story): Generator<Violation> {
  for (const field of ['attempt', 'version'] as const) {
    for (const [number, [first, second]] of Map.groupBy(story.deliveries, delivery => delivery[field])) {
      if (first === undefined || second === undefined) continue
      const span: Span = { from: claimOf(story, first, second.at), to: second.at }
      if (isRewound(history, story, span) || isClaimLost(history, story.topic, span)) continue
      yield {
        rule: 'attempt repeated',
        what: `${nameOf(story)}: ${field} ${number} was delivered twice`,
        key: story.key,
      }
    }
  }
}

function* findTooMany({ maxAttempts }: History, story: Story): Generator<Violation> {
  const most = Math.max(0, ...story.deliveries.map(({ attempt }) => attempt))
  if (most <= maxAttempts) return
  const what = `${nameOf(story)} was delivered for the ${most}th time of at most ${maxAttempts}`
  yield { rule: 'too many attempts', what, key: story.key }
}

function checkDeadLetters(history: History, group: FinalGroup): Violation[] {
  const { topic } = group
  const stories = new Map(
    history.stories
      .filter(each => each.topic === topic && each.group === group.group)
      .map(each => [each.messageId, each]),
  )
  return [...Map.groupBy(group.deadLetters, ({ messageId }) => messageId)].flatMap(
    ([messageId, letters]): Violation[] => {
      const [letter] = letters
      if (letter === undefined) return []
      const { key, attempts } = letter
      const violation = (what: string): Violation => ({
        rule: 'dead letters',
        what: `${nameOf({ ...group, key })} ${what}`,
        key,
      })
      const found: Violation[] = []
      if (letters.length > 1 && !isRepeated(history, stories.get(messageId)))
        found.push(violation(`is ${letters.length} dead letters`))
      if (attempts !== history.maxAttempts)
        found.push(violation(`is a dead letter after ${attempts} of ${history.maxAttempts} attempts`))
      if (isAcked(history, stories.get(messageId))) found.push(violation('was acknowledged and is a dead letter'))
      return found
    },
  )
}

function isAcked(history: History, story: Story | undefined): boolean {
  return (story?.settlements ?? []).some(({ what, outcome, from }) => {
    if (story === undefined || what !== 'ack' || outcome !== 'ok') return false
    const span = { from, to: Number.POSITIVE_INFINITY }
    return !isRewound(history, story, span) && !isLost(history, story.topic, span)
  })
}

/** An operator rewound the group after the message had died: it may die again, and both letters stay. */
function isRepeated(history: History, story: Story | undefined): boolean {
  if (story === undefined) return false
  const from = story.deliveries[0]?.at ?? 0
  return isRewound(history, story, { from, to: story.deliveries.at(-1)?.at ?? from })
}
