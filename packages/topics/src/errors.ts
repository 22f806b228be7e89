/**
 * Every error Tidemark throws: a class with a stable `code`, the fields that matter, and a message that says what
 * happened, to what, and what to do next.
 */
export class TidemarkError extends Error {
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
  }
}

/** An option that is unknown or has a value that is not allowed. */
export class ConfigError extends TidemarkError {
  readonly option: string
  readonly value: unknown
  readonly allowed: string

  constructor(option: string, value: unknown, allowed: string) {
    super('TIDEMARK_CONFIG', `Option '${option}' is ${show(value)}; allowed: ${allowed}`)
    this.option = option
    this.value = value
    this.allowed = allowed
  }
}

export class InvalidNameError extends TidemarkError {
  readonly kind: string
  readonly value: unknown

  constructor(kind: string, value: unknown, rule: string) {
    super('TIDEMARK_INVALID_NAME', `${show(value)} is not a valid ${kind} name; ${rule}`)
    this.kind = kind
    this.value = value
  }
}

/** The payload (or its key or headers) can't be stored. Nothing was written. */
export class PayloadError extends TidemarkError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_PAYLOAD', message, cause)
  }
}

export class PayloadTooLargeError extends TidemarkError {
  readonly topic: string
  readonly bytes: number
  readonly limit: number

  constructor(topic: string, bytes: number, limit: number) {
    super(
      'TIDEMARK_PAYLOAD_TOO_LARGE',
      `The message has ${bytes} bytes and topic '${topic}' takes at most ${limit}. ` +
        `Store large data elsewhere and publish a reference, or raise maxMessageBytes with configureTopic()`,
    )
    this.topic = topic
    this.bytes = bytes
    this.limit = limit
  }
}

/** A stored payload could not be decoded. It counts as a failed attempt; the message itself is not lost. */
export class DecodeError extends TidemarkError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_DECODE', message, cause)
  }
}

export class UnknownTypeError extends TidemarkError {
  readonly typeUrl: string

  constructor(typeUrl: string) {
    super(
      'TIDEMARK_UNKNOWN_TYPE',
      `No protobuf schema for '${typeUrl}' is registered. Pass it to open() in { registry: createRegistry(…) }`,
    )
    this.typeUrl = typeUrl
  }
}

/** A payload that its schema rejects. */
export class SchemaError extends TidemarkError {
  readonly issues: readonly { readonly message: string; readonly path: string }[]

  constructor(topic: string, issues: readonly { readonly message: string; readonly path: string }[]) {
    const list = issues.map(issue => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`)).join('; ')
    super('TIDEMARK_SCHEMA', `The payload does not match the schema of topic '${topic}': ${list}`)
    this.issues = issues
  }
}

export class ClosedError extends TidemarkError {
  constructor(what: string) {
    super('TIDEMARK_CLOSED', `${what} is closed. Open a new one to go on`)
  }
}

export class TopicNotFoundError extends TidemarkError {
  readonly topic: string

  constructor(topic: string) {
    super(
      'TIDEMARK_TOPIC_NOT_FOUND',
      `Topic '${topic}' does not exist. Create it with configureTopic('${topic}'), or open with autoCreate: true`,
    )
    this.topic = topic
  }
}

/** A change to a topic that its messages do not allow. */
export class TopicConflictError extends TidemarkError {
  readonly topic: string

  constructor(topic: string, message: string) {
    super('TIDEMARK_TOPIC_CONFLICT', message)
    this.topic = topic
  }
}

export class MessageNotFoundError extends TidemarkError {
  readonly topic: string
  readonly messageId: string

  constructor(topic: string, messageId: string) {
    super(
      'TIDEMARK_MESSAGE_NOT_FOUND',
      `Topic '${topic}' has no message '${messageId}'. Start from 'beginning', 'now' or a timestamp instead`,
    )
    this.topic = topic
    this.messageId = messageId
  }
}

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
          ? ` (${wiping} of removed groups are being wiped; the next run of the dead-groups job frees them)`
          : '') +
        `. Remove a group, or switch with tm.admin.setTracking('${topic}', 'offset'), which takes any number`,
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

/** Heartbeats failed so often that the group stopped rather than work on unseen. */
export class HeartbeatError extends TidemarkError {
  readonly failures: number

  constructor(topic: string, group: string, failures: number, cause: unknown) {
    super(
      'TIDEMARK_HEARTBEAT',
      `${failures} heartbeats in a row failed for ${groupName(group)} of topic '${topic}', so it was stopped: others may ` +
        `count it as dead. Start it again when the database can be reached`,
      cause,
    )
    this.failures = failures
  }
}

/** Another process runs this job now. */
export class JobBusyError extends TidemarkError {
  readonly job: string

  constructor(job: string) {
    super('TIDEMARK_JOB_BUSY', `The job '${job}' is being run by another process. Try again when it is done`)
    this.job = job
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

/** The database refused or could not be reached; subclasses say why. */
export class DatabaseError extends TidemarkError {
  constructor(message: string, cause?: unknown, code = 'TIDEMARK_DATABASE') {
    super(code, message, cause)
  }
}

export class DatabaseUnreachableError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `Can't reach the database at ${where}. Check that the server runs and the address is right. ` +
        `A write that was under way may or may not have been stored; publish with a messageId to repeat it safely`,
      cause,
      'TIDEMARK_DATABASE_UNREACHABLE',
    )
  }
}

export class DatabaseReadOnlyError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is read-only. Give this process write access to the file and its folder, ` +
        `or connect to the primary server`,
      cause,
      'TIDEMARK_DATABASE_READ_ONLY',
    )
  }
}

export class DatabaseLockedError extends DatabaseError {
  constructor(where: string, waitedMs: number, cause?: unknown) {
    super(
      `The database at ${where} was locked by another writer for ${waitedMs} ms. ` +
        `End the transaction that is open on it, or raise busyTimeout`,
      cause,
      'TIDEMARK_DATABASE_LOCKED',
    )
  }
}

export class DatabaseFullError extends DatabaseError {
  constructor(where: string, cause?: unknown) {
    super(
      `The database at ${where} is full. Free disk space (or raise its size limit); nothing was stored by this call`,
      cause,
      'TIDEMARK_DATABASE_FULL',
    )
  }
}

/** The engine, or the schema written by another Tidemark, is of a version this one can't use. */
export class DatabaseVersionError extends DatabaseError {
  constructor(message: string) {
    super(message, undefined, 'TIDEMARK_DATABASE_VERSION')
  }
}

/** The namespace came from another cluster by a logical restore, and its positions mean nothing here. */
export class DatabaseRestoredError extends DatabaseError {
  constructor(where: string) {
    super(
      `The namespace at ${where} was restored from another server: its positions are told in that server's transactions, ` +
        `and messages published here would be skipped. Nothing was changed; run 'tidemark repair', or repair(url), once`,
      undefined,
      'TIDEMARK_DATABASE_RESTORED',
    )
  }
}

/** A repair needs the namespace for itself. */
export class DatabaseInUseError extends DatabaseError {
  readonly users: readonly string[]

  constructor(where: string, users: readonly string[]) {
    super(
      `The namespace at ${where} is in use by ${users.join(', ')}. Stop these processes, and repair it then`,
      undefined,
      'TIDEMARK_DATABASE_IN_USE',
    )
    this.users = users
  }
}

/** The `tx` given to publish can't be used: not open, or of another database. */
export class TransactionError extends TidemarkError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_TRANSACTION', message, cause)
  }
}

export const groupName = (group: string): string => (group === '' ? 'the queue' : `group '${group}'`)

const show = (value: unknown): string => {
  if (typeof value === 'string') return `'${value.length > 80 ? `${value.slice(0, 80)}…` : value}'`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}
