import { TidemarkError } from './tidemark-error.ts'

export class DuplicateConsumerError extends TidemarkError {
  readonly consumer: string

  constructor(topic: string, group: string, consumer: string) {
    super(
      'TIDEMARK_DUPLICATE_CONSUMER',
      `Consumer '${consumer}' is already a member of ${groupName(group)} of topic '${topic}'. ` +
        `Give each consumer an id of its own`,
    )
    this.consumer = consumer
  }
}

/** A group without the members it needs. */
export class MembershipError extends TidemarkError {
  constructor(message: string) {
    super('TIDEMARK_MEMBERSHIP', message)
  }
}

/** The delivery's lease was taken over, so its ack, nack or extend changed nothing. */
export class StaleDeliveryError extends TidemarkError {
  readonly topic: string
  readonly group: string
  readonly messageId: string
  readonly version: number

  constructor(topic: string, group: string, messageId: string, version: number) {
    super(
      'TIDEMARK_STALE_DELIVERY',
      `Message '${messageId}' of topic '${topic}' is no longer leased to this consumer of ${groupName(group)} ` +
        `(version ${version} is stale): it was or will be delivered again. ` +
        `Nothing was changed; undo or deduplicate your work, and consider a longer lease or extend()`,
    )
    this.topic = topic
    this.group = group
    this.messageId = messageId
    this.version = version
  }
}

/** What was given as the receipt of a pull is none, or is damaged. */
export class InvalidReceiptError extends TidemarkError {
  constructor(problem: string) {
    super('TIDEMARK_INVALID_RECEIPT', `The receipt can't be used: ${problem}. Give it back exactly as pull() gave it`)
  }
}

export class InvalidTransitionError extends TidemarkError {
  readonly from: string
  readonly to: string

  constructor(topic: string, group: string, from: string, to: string) {
    super(
      'TIDEMARK_INVALID_TRANSITION',
      `${groupName(group)} of topic '${topic}' is ${from} and can't become ${to}` +
        (from === 'CANCELLED' ? '. A cancelled group is gone for good; subscribe under another name' : ''),
    )
    this.from = from
    this.to = to
  }
}

/** The group's subscription was cancelled or removed while it ran, or never existed. */
export class SubscriptionGoneError extends TidemarkError {
  readonly topic: string
  readonly group: string

  constructor(topic: string, group: string) {
    super('TIDEMARK_SUBSCRIPTION_GONE', `${groupName(group)} of topic '${topic}' has no live subscription`)
    this.topic = topic
    this.group = group
  }
}

/** Nobody is subscribed to a topic that takes no message then. Nothing was stored. */
export class NoSubscriptionsError extends TidemarkError {
  readonly topic: string

  constructor(topic: string) {
    super(
      'TIDEMARK_NO_SUBSCRIPTIONS',
      `Topic '${topic}' has no subscription and blocks publishing without one. ` +
        `Start a consumer group first, or set blockPublishWithoutSubscription: false`,
    )
    this.topic = topic
  }
}

/** The topic has no such group. */
export class GroupNotFoundError extends TidemarkError {
  readonly topic: string
  readonly group: string
  readonly known: readonly string[]

  constructor(topic: string, group: string, known: readonly string[]) {
    super(
      'TIDEMARK_GROUP_NOT_FOUND',
      `Topic '${topic}' has no group '${group}'; ` +
        (known.length === 0
          ? 'it has none'
          : `it has ${known.slice(0, 10).join(', ')}${known.length > 10 ? ', …' : ''}`),
    )
    this.topic = topic
    this.group = group
    this.known = known
  }
}

/** The topic's bitmaps have no place for one more group. */
export class TooManyGroupsError extends TidemarkError {
  readonly topic: string

  constructor(topic: string, wiping: number) {
    super(
      'TIDEMARK_TOO_MANY_GROUPS',
      `Topic '${topic}' is tracked by reference, which takes 64 groups, and all are taken` +
        (wiping > 0
          ? ` (${wiping} of ended groups are being wiped; they are free when all open transactions have ended)`
          : '') +
        `. Cancel a group, or switch with tm.admin.setTracking('${topic}', 'offset'), which takes any number`,
    )
    this.topic = topic
  }
}

/** A backfill that is not possible now. */
export class BackfillError extends TidemarkError {
  readonly topic: string
  readonly group: string

  constructor(topic: string, group: string, message: string) {
    super('TIDEMARK_BACKFILL', message)
    this.topic = topic
    this.group = group
  }

  static ofOffsetTopic(topic: string, group: string): BackfillError {
    const text = `Topic '${topic}' is tracked by offset: a group is placed at once and needs no backfill. `
    return new BackfillError(topic, group, `${text}Reset ${groupName(group)} to the position instead`)
  }

  static ofDeadGroup(topic: string, group: string): BackfillError {
    const text = `${groupName(group)} of topic '${topic}' is DEAD. `
    return new BackfillError(topic, group, `${text}Start it again or resurrect it, which brings it what it has missed`)
  }

  static unfinished(topic: string, group: string): BackfillError {
    const text = `${groupName(group)} of topic '${topic}' has a backfill that is running or not yet delivered. `
    return new BackfillError(topic, group, `${text}Wait until it is, or cancel it`)
  }

  static whileSwitching(topic: string, group: string): BackfillError {
    const text = `Topic '${topic}' can't change its tracking while a backfill of ${groupName(group)} runs. `
    return new BackfillError(topic, group, `${text}Nothing was changed; wait until it is done, or cancel it`)
  }

  static cannotBecome(topic: string, group: string, from: string | undefined, to: string): BackfillError {
    const text = `${groupName(group)} of topic '${topic}' has ${from === undefined ? 'no backfill' : `a backfill that is ${from}`}`
    return new BackfillError(topic, group, `${text}, which can't become ${to}`)
  }
}

/** The position lies before the oldest message that is kept. */
export class PositionGoneError extends TidemarkError {
  readonly topic: string
  readonly oldestMessageId: string | null
  readonly oldestAt: Date | null

  constructor(topic: string, position: string, oldest: { messageId: string; createdAt: Date } | null) {
    super(
      'TIDEMARK_POSITION_GONE',
      `${position} of topic '${topic}' was cleaned up; ` +
        (oldest === null
          ? 'nothing is kept'
          : `the oldest message kept is '${oldest.messageId}' of ${oldest.createdAt.toISOString()}`) +
        `. Nothing was changed; use 'beginning' for the oldest, or 'now'`,
    )
    this.topic = topic
    this.oldestMessageId = oldest?.messageId ?? null
    this.oldestAt = oldest?.createdAt ?? null
  }
}

/** Heartbeats failed so often that the group claims nothing for now, rather than work on unseen. */
export class HeartbeatError extends TidemarkError {
  readonly failures: number

  constructor(topic: string, group: string, failures: number, cause: unknown) {
    super(
      'TIDEMARK_HEARTBEAT',
      `${failures} heartbeats in a row failed for ${groupName(group)} of topic '${topic}', so it claims nothing: others may ` +
        `count it as dead. It goes on by itself with the next heartbeat that succeeds; the cause says why they fail`,
      cause,
    )
    this.failures = failures
  }
}

/** What the handler of an expired lease is taken to have done: crashed, hung, or taken too long. */
export class LeaseExpiredError extends TidemarkError {
  constructor(consumer: string) {
    super(
      'TIDEMARK_LEASE_EXPIRED',
      `The lease of consumer '${consumer}' ran out before the message was settled: its process died, or the handler took too long`,
    )
  }
}

/** What became of an attempt whose claim an operator released. */
export class ClaimReleasedError extends TidemarkError {
  constructor(consumer: string) {
    super(
      'TIDEMARK_CLAIM_RELEASED',
      `An operator released the claim of consumer '${consumer}' before the message was settled`,
    )
  }
}

/** The topic has no such claim: it was settled, ran out, or was released before. */
export class ClaimNotFoundError extends TidemarkError {
  readonly topic: string
  readonly claimId: string

  constructor(topic: string, claimId: string) {
    super(
      'TIDEMARK_CLAIM_NOT_FOUND',
      `Topic '${topic}' has no claim '${claimId}': it was settled, taken over or released meanwhile. ` +
        `List the present ones with admin.claims('${topic}')`,
    )
    this.topic = topic
    this.claimId = claimId
  }
}

export const groupName = (group: string): string => (group === '' ? 'the queue' : `group '${group}'`)
