import type { TopicConfig } from '../shapes.ts'

/** The settings of a topic as form fields: texts as typed, and converted to the API's form. */

export type Field = {
  /** Name in the API; parts of the backoff have a dot. */
  readonly name: string
  readonly label: string
  readonly says: string
  readonly kind: 'duration' | 'choice' | 'switch' | 'number'
  readonly choices?: readonly string[]
  /** The word for "unlimited", if there is one. */
  readonly endless?: 'forever' | 'none'
  /** Only for topics with groups. */
  readonly isOfGroups?: boolean
  /** Fixed when the topic is created. */
  readonly isFixed?: boolean
}

export const FIELDS: readonly Field[] = [
  {
    name: 'semantics',
    label: 'Semantics',
    says: 'queue: each message goes to one consumer. pub-sub: every group receives every message.',
    kind: 'choice',
    choices: ['queue', 'pub-sub'],
  },
  {
    name: 'retention',
    label: 'Retention',
    says: 'How long messages stay once every group has processed them.',
    kind: 'duration',
    endless: 'forever',
  },
  {
    name: 'maxRetention',
    label: 'Maximum age',
    says: 'Age at which a message goes, processed or not. Groups that lose one are reported.',
    kind: 'duration',
    endless: 'none',
  },
  {
    name: 'maxAttempts',
    label: 'Attempts',
    says: 'Deliveries of a message before it becomes a dead letter.',
    kind: 'number',
  },
  {
    name: 'lease',
    label: 'Lease',
    says: 'How long a consumer holds a message before another may take it over; 0s never expires.',
    kind: 'duration',
  },
  {
    name: 'backoff.initial',
    label: 'First retry after',
    says: 'Delay before a failed message comes again.',
    kind: 'duration',
  },
  {
    name: 'backoff.factor',
    label: 'Backoff factor',
    says: 'Each further delay is this many times longer.',
    kind: 'number',
  },
  { name: 'backoff.max', label: 'Longest delay', says: 'Delays grow no longer than this.', kind: 'duration' },
  {
    name: 'dedupeWindow',
    label: 'Deduplication',
    says: 'How long a second message with the same messageId is not stored.',
    kind: 'duration',
    endless: 'forever',
  },
  {
    name: 'maxMessageBytes',
    label: 'Maximum size in bytes',
    says: 'Payload, key and headers of one message.',
    kind: 'number',
  },
  {
    name: 'zeroSubscriptionRetention',
    label: 'Retention without groups',
    says: 'How long messages stay while nobody is subscribed.',
    kind: 'duration',
    endless: 'forever',
    isOfGroups: true,
  },
  {
    name: 'blockPublishWithoutSubscription',
    label: 'Refuse without groups',
    says: 'Publishing fails while nobody is subscribed.',
    kind: 'switch',
    isOfGroups: true,
  },
  {
    name: 'zombieTtl',
    label: 'Zombie after',
    says: 'Time without progress after which a group with waiting messages is reported.',
    kind: 'duration',
  },
  {
    name: 'advanceZombies',
    label: 'Move zombies on',
    says: 'Zombies skip to the newest message. What they skip is reported as lost.',
    kind: 'switch',
  },
  {
    name: 'partitionRows',
    label: 'Rows per partition',
    says: 'PostgreSQL only.',
    kind: 'number',
    isFixed: true,
  },
]

export type Values = { readonly [name: string]: string }

/** Defaults of a new topic. */
export const DEFAULTS: TopicConfig = {
  semantics: 'queue',
  tracking: 'offset',
  retentionMs: 86_400_000,
  maxRetentionMs: 30 * 86_400_000,
  zeroSubscriptionRetentionMs: 86_400_000,
  blockPublishWithoutSubscription: false,
  zombieTtlMs: 7 * 86_400_000,
  advanceZombies: false,
  leaseMs: 300_000,
  maxAttempts: 5,
  backoff: { initialMs: 1_000, maxMs: 60_000, factor: 2 },
  dedupeWindowMs: 7 * 86_400_000,
  maxMessageBytes: 1_048_576,
  partitionRows: 1_000_000,
}

export const valuesOf = (config: TopicConfig): Values =>
  Object.fromEntries(FIELDS.map(field => [field.name, textOf(field, config)]))

function textOf({ name, kind, endless }: Field, config: TopicConfig): string {
  const [, part] = name.split('.')
  const place = (part === undefined ? config : config.backoff) as { readonly [name: string]: unknown }
  const value = place[`${part ?? name}${kind === 'duration' ? 'Ms' : ''}`]
  if (value === null || value === undefined) return endless ?? ''
  return kind === 'duration' ? durationText(Number(value)) : String(value)
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** 24h, 90s, 1500ms: in the largest unit without a remainder. */
export function durationText(ms: number): string {
  const [unit, size] =
    UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? (ms === 0 ? (['s', 1] as const) : (['ms', 1] as const))
  return `${ms / size}${unit}`
}

const DURATION = /^\d{1,12}(\.\d{1,6})?(ms|s|m|h|d)$/

/** What is wrong with a field, or nothing. */
export function faultOf({ kind, endless }: Field, text: string): string | undefined {
  if (kind === 'duration' && text !== endless && !DURATION.test(text))
    return `Write a duration such as 30s, 24h or 7d${endless === undefined ? '' : `, or ${endless}`}.`
  if (kind === 'number' && !(Number(text) > 0)) return 'Write a number above 0.'
  return undefined
}

/** Fields that have changed; 60s and 1m are the same. */
export const changedFields = (before: Values, now: Values): readonly Field[] =>
  FIELDS.filter(({ name, kind }) => {
    const [old = '', text = ''] = [before[name], now[name]]
    return old !== text && (kind !== 'duration' || msOf(old) !== msOf(text) || Number.isNaN(msOf(text)))
  })

const SIZES: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function msOf(text: string): number {
  const [, digits, unit] = /^([\d.]+)([a-z]+)$/.exec(text) ?? []
  return Number(digits) * (SIZES[unit ?? ''] ?? Number.NaN)
}

/** The body of `PUT /topics/:topic`: only what has changed. A backoff is replaced as a whole. */
export function optionsOf(before: Values, now: Values): object {
  const options: Record<string, unknown> = {}
  for (const { name, kind } of changedFields(before, now)) {
    if (name.startsWith('backoff.')) options.backoff = backoffOf(now)
    else options[name] = typed(kind, now[name] ?? '')
  }
  return options
}

const backoffOf = (now: Values): object => ({
  initial: now['backoff.initial'],
  max: now['backoff.max'],
  factor: Number(now['backoff.factor']),
})

const typed = (kind: Field['kind'], text: string): unknown =>
  kind === 'number' ? Number(text) : kind === 'switch' ? text === 'true' : text
