import { TidemarkError } from './tidemark-error.ts'

/** An option is unknown or has an invalid value. */
export class ConfigError extends TidemarkError {
  /** Always `'TIDEMARK_CONFIG'`. */
  declare readonly code: 'TIDEMARK_CONFIG'
  /** Name of the option. */
  readonly option: string
  /** The invalid value. */
  readonly value: unknown
  /** What is allowed. */
  readonly allowed: string

  constructor(option: string, value: unknown, allowed: string) {
    super('TIDEMARK_CONFIG', `Option '${option}' is ${show(value)}; allowed: ${allowed}`)
    this.option = option
    this.value = value
    this.allowed = allowed
  }
}

/** The name of a topic, group, consumer or namespace is invalid. */
export class InvalidNameError extends TidemarkError {
  /** Always `'TIDEMARK_INVALID_NAME'`. */
  declare readonly code: 'TIDEMARK_INVALID_NAME'
  /** What the name is for. */
  readonly kind: string
  /** The invalid name. */
  readonly value: unknown

  constructor(kind: string, value: unknown, rule: string) {
    super('TIDEMARK_INVALID_NAME', `${show(value)} is not a valid ${kind} name; ${rule}`)
    this.kind = kind
    this.value = value
  }
}

/** The payload, key or headers can't be stored. Nothing was stored. */
export class PayloadError extends TidemarkError {
  /** Always `'TIDEMARK_PAYLOAD'`. */
  declare readonly code: 'TIDEMARK_PAYLOAD'

  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_PAYLOAD', message, cause)
  }
}

/** The message exceeds the `maxMessageBytes` of the topic. Nothing was stored. */
export class PayloadTooLargeError extends TidemarkError {
  /** Always `'TIDEMARK_PAYLOAD_TOO_LARGE'`. */
  declare readonly code: 'TIDEMARK_PAYLOAD_TOO_LARGE'
  /** Name of the topic. */
  readonly topic: string
  /** Size of the message in bytes. */
  readonly bytes: number
  /** Limit in bytes. */
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

/** The messages of one call exceed the limit of a transaction. Nothing was stored. */
export class BatchTooLargeError extends TidemarkError {
  /** Always `'TIDEMARK_BATCH_TOO_LARGE'`. */
  declare readonly code: 'TIDEMARK_BATCH_TOO_LARGE'
  /** Name of the topic. */
  readonly topic: string
  /** Number of messages. */
  readonly messages: number
  /** Limit in bytes; of messages with `messageId`s on NATS, in writes. */
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

/** A stored payload could not be decoded. It counts as a failed attempt; the message is kept. */
export class DecodeError extends TidemarkError {
  /** Always `'TIDEMARK_DECODE'`. */
  declare readonly code: 'TIDEMARK_DECODE'

  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_DECODE', message, cause)
  }
}

/** The protobuf type of a payload is not in the `registry`. */
export class UnknownTypeError extends TidemarkError {
  /** Always `'TIDEMARK_UNKNOWN_TYPE'`. */
  declare readonly code: 'TIDEMARK_UNKNOWN_TYPE'
  /** The unknown type URL. */
  readonly typeUrl: string

  constructor(typeUrl: string) {
    super(
      'TIDEMARK_UNKNOWN_TYPE',
      `No protobuf schema for '${typeUrl}' is registered. Pass it to open() in { registry: createRegistry(…) }`,
    )
    this.typeUrl = typeUrl
  }
}

/** A payload was rejected by its schema. */
export class SchemaError extends TidemarkError {
  /** Always `'TIDEMARK_SCHEMA'`. */
  declare readonly code: 'TIDEMARK_SCHEMA'
  /** Problems that the schema reported. */
  readonly issues: readonly { readonly message: string; readonly path: string }[]

  constructor(topic: string, issues: readonly { readonly message: string; readonly path: string }[]) {
    const list = issues.map(issue => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`)).join('; ')
    super('TIDEMARK_SCHEMA', `The payload does not match the schema of topic '${topic}': ${list}`)
    this.issues = issues
  }
}

/** The object is closed. */
export class ClosedError extends TidemarkError {
  /** Always `'TIDEMARK_CLOSED'`. */
  declare readonly code: 'TIDEMARK_CLOSED'

  constructor(what: string) {
    super('TIDEMARK_CLOSED', `${what} is closed. Open a new one to continue`)
  }
}

/** The topic does not exist. */
export class TopicNotFoundError extends TidemarkError {
  /** Always `'TIDEMARK_TOPIC_NOT_FOUND'`. */
  declare readonly code: 'TIDEMARK_TOPIC_NOT_FOUND'
  /** Name of the topic. */
  readonly topic: string

  constructor(topic: string) {
    super(
      'TIDEMARK_TOPIC_NOT_FOUND',
      `Topic '${topic}' does not exist. Create it with configureTopic('${topic}'), or open with autoCreate: true`,
    )
    this.topic = topic
  }
}

/** The stored messages do not allow this change of the topic. */
export class TopicConflictError extends TidemarkError {
  /** Always `'TIDEMARK_TOPIC_CONFLICT'`. */
  declare readonly code: 'TIDEMARK_TOPIC_CONFLICT'
  /** Name of the topic. */
  readonly topic: string

  constructor(topic: string, message: string) {
    super('TIDEMARK_TOPIC_CONFLICT', message)
    this.topic = topic
  }

  /** Its semantics changed during a subscribe. */
  static ofSemantics(topic: string): TopicConflictError {
    return new TopicConflictError(
      topic,
      `Topic '${topic}' became a queue, or ceased to be one, while this group subscribed. Nothing was changed; try again`,
    )
  }
}

/** The topic has no message with this id. */
export class MessageNotFoundError extends TidemarkError {
  /** Always `'TIDEMARK_MESSAGE_NOT_FOUND'`. */
  declare readonly code: 'TIDEMARK_MESSAGE_NOT_FOUND'
  /** Name of the topic. */
  readonly topic: string
  /** Id of the message. */
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

/** An open transaction has published the same `messageId`. Whether this is a duplicate is known when it ends. */
export class MessageIdPendingError extends TidemarkError {
  /** Always `'TIDEMARK_MESSAGE_ID_PENDING'`. */
  declare readonly code: 'TIDEMARK_MESSAGE_ID_PENDING'
  /** Name of the topic. */
  readonly topic: string

  constructor(topic: string, cause?: unknown) {
    super(
      'TIDEMARK_MESSAGE_ID_PENDING',
      `An open transaction has published the same messageId to topic '${topic}'. Nothing was stored by this call. ` +
        'End that transaction, then publish again',
      cause,
    )
    this.topic = topic
  }
}

/** Another process is running this job. */
export class JobBusyError extends TidemarkError {
  /** Always `'TIDEMARK_JOB_BUSY'`. */
  declare readonly code: 'TIDEMARK_JOB_BUSY'
  /** Name of the job. */
  readonly job: string

  constructor(job: string) {
    super('TIDEMARK_JOB_BUSY', `The job '${job}' is running in another process. Try again when it has finished`)
    this.job = job
  }
}

const show = (value: unknown): string => {
  if (typeof value === 'string') return `'${value.length > 80 ? `${value.slice(0, 80)}…` : value}'`
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}
