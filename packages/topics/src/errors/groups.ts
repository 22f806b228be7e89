import { TidemarkError } from './tidemark-error.ts'

/** The group already has a consumer with this id. */
export class DuplicateConsumerError extends TidemarkError {
  /** Always `'TIDEMARK_DUPLICATE_CONSUMER'`. */
  declare readonly code: 'TIDEMARK_DUPLICATE_CONSUMER'
  /** Id of the consumer. */
  readonly consumer: string

  constructor(topic: string, group: string, consumer: string) {
    super(
      'TIDEMARK_DUPLICATE_CONSUMER',
      `Consumer '${consumer}' is already a member of ${groupName(group)} of topic '${topic}'. ` +
        `Give each consumer a unique id`,
    )
    this.consumer = consumer
  }
}

/** The group does not have the consumers it needs. */
export class MembershipError extends TidemarkError {
  /** Always `'TIDEMARK_MEMBERSHIP'`. */
  declare readonly code: 'TIDEMARK_MEMBERSHIP'

  constructor(message: string) {
    super('TIDEMARK_MEMBERSHIP', message)
  }
}

/** The lease was taken over, so the ack, nack or extend changed nothing. */
export class StaleDeliveryError extends TidemarkError {
  /** Always `'TIDEMARK_STALE_DELIVERY'`. */
  declare readonly code: 'TIDEMARK_STALE_DELIVERY'
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group. */
  readonly group: string
  /** Id of the message. */
  readonly messageId: string
  /** Version of the stale delivery. */
  readonly version: number

  constructor(topic: string, group: string, messageId: string, version: number) {
    super(
      'TIDEMARK_STALE_DELIVERY',
      `Message '${messageId}' of topic '${topic}' is no longer leased to this consumer of ${groupName(group)} ` +
        `(version ${version} is stale): it was or will be redelivered. Nothing was changed. Undo or deduplicate your ` +
        'work, and consider a longer lease or extend()',
    )
    this.topic = topic
    this.group = group
    this.messageId = messageId
    this.version = version
  }
}

/** The receipt of a pull is invalid or damaged. */
export class InvalidReceiptError extends TidemarkError {
  /** Always `'TIDEMARK_INVALID_RECEIPT'`. */
  declare readonly code: 'TIDEMARK_INVALID_RECEIPT'

  constructor(problem: string) {
    super('TIDEMARK_INVALID_RECEIPT', `The receipt can't be used: ${problem}. Pass it exactly as pull() returned it`)
  }
}

/** The status of the subscription does not allow the operation. */
export class InvalidTransitionError extends TidemarkError {
  /** Always `'TIDEMARK_INVALID_TRANSITION'`. */
  declare readonly code: 'TIDEMARK_INVALID_TRANSITION'
  /** Current status. */
  readonly from: string
  /** Requested status. */
  readonly to: string

  constructor(topic: string, group: string, from: string, to: string) {
    super(
      'TIDEMARK_INVALID_TRANSITION',
      `${groupName(group)} of topic '${topic}' is ${from} and can't become ${to}` +
        (from === 'CANCELLED' ? ". A cancelled group can't be reactivated; subscribe under another name" : ''),
    )
    this.from = from
    this.to = to
  }
}

/** The subscription was cancelled or removed, or never existed. */
export class SubscriptionGoneError extends TidemarkError {
  /** Always `'TIDEMARK_SUBSCRIPTION_GONE'`. */
  declare readonly code: 'TIDEMARK_SUBSCRIPTION_GONE'
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group. */
  readonly group: string

  constructor(topic: string, group: string) {
    super('TIDEMARK_SUBSCRIPTION_GONE', `${groupName(group)} of topic '${topic}' has no live subscription`)
    this.topic = topic
    this.group = group
  }
}

/** The topic has no subscription and blocks publishing without one. Nothing was stored. */
export class NoSubscriptionsError extends TidemarkError {
  /** Always `'TIDEMARK_NO_SUBSCRIPTIONS'`. */
  declare readonly code: 'TIDEMARK_NO_SUBSCRIPTIONS'
  /** Name of the topic. */
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
  /** Always `'TIDEMARK_GROUP_NOT_FOUND'`. */
  declare readonly code: 'TIDEMARK_GROUP_NOT_FOUND'
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group. */
  readonly group: string
  /** Groups of the topic. */
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

/** A reference topic can't have more groups. */
export class TooManyGroupsError extends TidemarkError {
  /** Always `'TIDEMARK_TOO_MANY_GROUPS'`. */
  declare readonly code: 'TIDEMARK_TOO_MANY_GROUPS'
  /** Name of the topic. */
  readonly topic: string

  constructor(topic: string, wiping: number) {
    super(
      'TIDEMARK_TOO_MANY_GROUPS',
      `Topic '${topic}' is tracked by reference, which supports 64 groups, and all are in use` +
        (wiping > 0
          ? ` (${wiping} of ended groups are being cleared and are available when all open transactions have ended)`
          : '') +
        `. Cancel a group, or switch with tm.admin.setTracking('${topic}', 'offset'), which supports any number`,
    )
    this.topic = topic
  }
}

/** A backfill is not possible now. */
export class BackfillError extends TidemarkError {
  /** Always `'TIDEMARK_BACKFILL'`. */
  declare readonly code: 'TIDEMARK_BACKFILL'
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group. */
  readonly group: string

  constructor(topic: string, group: string, message: string) {
    super('TIDEMARK_BACKFILL', message)
    this.topic = topic
    this.group = group
  }

  static ofOffsetTopic(topic: string, group: string): BackfillError {
    const text = `Topic '${topic}' is tracked by offset, so its groups start at their position at once and need no backfill. `
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

/** The position is before the oldest retained message. */
export class PositionGoneError extends TidemarkError {
  /** Always `'TIDEMARK_POSITION_GONE'`. */
  declare readonly code: 'TIDEMARK_POSITION_GONE'
  /** Name of the topic. */
  readonly topic: string
  /** Id of the oldest retained message, or null. */
  readonly oldestMessageId: string | null
  /** Time of the oldest retained message, or null. */
  readonly oldestAt: Date | null

  constructor(topic: string, position: string, oldest: { messageId: string; createdAt: Date } | null) {
    super(
      'TIDEMARK_POSITION_GONE',
      `${position} of topic '${topic}' was cleaned up; ` +
        (oldest === null
          ? 'no message is retained'
          : `the oldest retained message is '${oldest.messageId}' of ${oldest.createdAt.toISOString()}`) +
        `. Nothing was changed. Use 'beginning' for the oldest message, or 'now'`,
    )
    this.topic = topic
    this.oldestMessageId = oldest?.messageId ?? null
    this.oldestAt = oldest?.createdAt ?? null
  }
}

/** The heartbeats of a group failed so often that it stops claiming until one succeeds. */
export class HeartbeatError extends TidemarkError {
  /** Always `'TIDEMARK_HEARTBEAT'`. */
  declare readonly code: 'TIDEMARK_HEARTBEAT'
  /** Number of failed heartbeats in a row. */
  readonly failures: number

  constructor(topic: string, group: string, failures: number, cause: unknown) {
    super(
      'TIDEMARK_HEARTBEAT',
      `${failures} heartbeats in a row failed for ${groupName(group)} of topic '${topic}', so it stops claiming: ` +
        'other processes may mark it dead. It resumes with the next successful heartbeat. The cause has the reason',
      cause,
    )
    this.failures = failures
  }
}

/** Recorded for an attempt whose lease expired: the handler crashed, hung, or took too long. */
export class LeaseExpiredError extends TidemarkError {
  /** Always `'TIDEMARK_LEASE_EXPIRED'`. */
  declare readonly code: 'TIDEMARK_LEASE_EXPIRED'

  constructor(consumer: string) {
    super(
      'TIDEMARK_LEASE_EXPIRED',
      `The lease of consumer '${consumer}' expired before the message was settled: its process crashed, or the handler took too long`,
    )
  }
}

/** Recorded for an attempt whose claim was released by an operator. */
export class ClaimReleasedError extends TidemarkError {
  /** Always `'TIDEMARK_CLAIM_RELEASED'`. */
  declare readonly code: 'TIDEMARK_CLAIM_RELEASED'

  constructor(consumer: string) {
    super(
      'TIDEMARK_CLAIM_RELEASED',
      `An operator released the claim of consumer '${consumer}' before the message was settled`,
    )
  }
}

/** The topic has no such claim: it was settled, expired or released. */
export class ClaimNotFoundError extends TidemarkError {
  /** Always `'TIDEMARK_CLAIM_NOT_FOUND'`. */
  declare readonly code: 'TIDEMARK_CLAIM_NOT_FOUND'
  /** Name of the topic. */
  readonly topic: string
  /** Id of the claim. */
  readonly claimId: string

  constructor(topic: string, claimId: string) {
    super(
      'TIDEMARK_CLAIM_NOT_FOUND',
      `Topic '${topic}' has no claim '${claimId}': it was settled, taken over or released. List the current claims ` +
        `with admin.claims('${topic}')`,
    )
    this.topic = topic
    this.claimId = claimId
  }
}

export const groupName = (group: string): string => (group === '' ? 'the queue' : `group '${group}'`)

/** Reason of a failed attempt whose group or reader was stopped before its handler finished. */
export class StoppedError extends TidemarkError {
  /** Always `'TIDEMARK_STOPPED'`. */
  declare readonly code: 'TIDEMARK_STOPPED'

  constructor(message: string) {
    super('TIDEMARK_STOPPED', message)
  }
}
