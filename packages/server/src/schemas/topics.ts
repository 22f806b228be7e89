import type { TopicConfig as EffectiveConfig, TopicOptions } from 'tidemark'
import { type TSchema, Type } from 'typebox'
import { Count, DurationGiven, nullable, strict, TopicName } from './common.ts'
import { share } from './shared.ts'

const orForever = (word: string) => Type.Union([DurationGiven, Type.Literal(word)])

export const TopicParams = strict({ topic: TopicName })

/** All options of `configureTopic`. */
export const TopicOptionsGiven = strict({
  semantics: Type.Optional(Type.Enum(['queue', 'pub-sub'])),
  tracking: Type.Optional(Type.Enum(['offset', 'reference'])),
  retention: Type.Optional(orForever('forever')),
  maxRetention: Type.Optional(orForever('none')),
  zeroSubscriptionRetention: Type.Optional(orForever('forever')),
  blockPublishWithoutSubscription: Type.Optional(Type.Boolean()),
  zombieTtl: Type.Optional(DurationGiven),
  advanceZombies: Type.Optional(Type.Boolean()),
  lease: Type.Optional(DurationGiven),
  maxAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  backoff: Type.Optional(
    strict({
      initial: Type.Optional(DurationGiven),
      max: Type.Optional(DurationGiven),
      factor: Type.Optional(Type.Number({ minimum: 1, maximum: 100 })),
    }),
  ),
  dedupeWindow: Type.Optional(orForever('forever')),
  maxMessageBytes: Type.Optional(Type.Integer({ minimum: 1, maximum: 255 * 1024 * 1024 })),
  partitionRows: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000_000 })),
} satisfies Record<keyof TopicOptions, TSchema>)

export const TopicConfig = share(
  'TopicConfig',
  strict(
    {
      semantics: Type.Enum(['queue', 'pub-sub']),
      tracking: Type.Enum(['offset', 'reference']),
      retentionMs: nullable(Type.Number()),
      maxRetentionMs: nullable(Type.Number()),
      zeroSubscriptionRetentionMs: nullable(Type.Number()),
      blockPublishWithoutSubscription: Type.Boolean(),
      zombieTtlMs: Type.Number(),
      advanceZombies: Type.Boolean(),
      leaseMs: Type.Number(),
      maxAttempts: Count,
      backoff: strict({ initialMs: Type.Number(), maxMs: Type.Number(), factor: Type.Number() }),
      dedupeWindowMs: nullable(Type.Number()),
      maxMessageBytes: Count,
      partitionRows: Count,
    } satisfies Record<keyof EffectiveConfig, TSchema>,
    { description: 'Durations in milliseconds; null means unlimited.' },
  ),
)

export const TopicSummary = strict({ topic: Type.String(), config: TopicConfig })

export const ConfigPreview = strict({
  changes: Type.Array(
    strict({
      setting: Type.String({ description: 'Name of the effective setting, such as retentionMs.' }),
      from: Type.Unknown({ description: 'Present value.' }),
      to: Type.Unknown({ description: 'New value.' }),
    }),
    { maxItems: 100 },
  ),
  mayRemove: Type.Integer({
    minimum: 0,
    description: 'Messages that the next clean-up could remove then; on PostgreSQL an upper limit.',
  }),
})
