import { TidemarkError } from './tidemark-error.ts'

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

/** The messages of one call are more than one transaction takes. Nothing was written. */
export class BatchTooLargeError extends TidemarkError {
  readonly topic: string
  readonly messages: number
  readonly limit: number

  constructor(topic: string, messages: number, limit: number) {
    super(
      'TIDEMARK_BATCH_TOO_LARGE',
      `The batch of ${messages} messages for topic '${topic}' has more than ${limit} bytes. Publish it in several batches`,
    )
    this.topic = topic
    this.messages = messages
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

  /** Its semantics changed while somebody subscribed. */
  static ofSemantics(topic: string): TopicConflictError {
    return new TopicConflictError(
      topic,
      `Topic '${topic}' became a queue, or ceased to be one, while this group subscribed. Nothing was changed; try again`,
    )
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

/** A transaction that is still open has published the same messageId: only its end tells whether this is a duplicate. */
export class MessageIdPendingError extends TidemarkError {
  readonly topic: string

  constructor(topic: string, cause?: unknown) {
    super(
      'TIDEMARK_MESSAGE_ID_PENDING',
      `A transaction that is still open has published the same messageId to topic '${topic}'. ` +
        `Nothing was stored by this call; end that transaction, and publish again`,
      cause,
    )
    this.topic = topic
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

const show = (value: unknown): string => {
  if (typeof value === 'string') return `'${value.length > 80 ? `${value.slice(0, 80)}…` : value}'`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}
