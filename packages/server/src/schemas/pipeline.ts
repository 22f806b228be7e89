import { Type } from 'typebox'
import { nullable, strict, Time } from './common.ts'
import { share } from './shared.ts'

export const ServiceParams = strict({
  service: Type.String({ minLength: 1, maxLength: 200, description: 'Name of the service in the configuration.' }),
})

const Metrics = Type.Record(Type.String(), Type.Number())

const Errors = Type.Array(strict({ at: Time, action: Type.String(), name: Type.String(), message: Type.String() }), {
  description: 'Newest failures that no success of the same action has followed.',
  maxItems: 120,
})

export const ServiceStatusSchema = share(
  'ServiceStatus',
  strict({
    name: Type.String(),
    state: Type.Enum(['STOPPED', 'STARTING', 'RUNNING', 'WAITING', 'PAUSED', 'ERROR']),
    healthy: Type.Boolean(),
    waitingFor: nullable(Type.String({ description: 'What the service waits for. It continues by itself.' })),
    startedAt: nullable(Time),
    metrics: Metrics,
    bindings: Type.Array(
      strict({
        binding: Type.String(),
        kind: Type.Enum(['topic-read', 'topic-write', 'storage-read', 'storage-write', 'index', 'queue']),
        name: Type.String({ description: 'Topic of the binding.' }),
        metrics: Metrics,
      }),
      { description: 'Counters of each topic binding.' },
    ),
    speed: nullable(
      strict(
        {
          ticksPerSecond: nullable(Type.Number({ description: 'Maximum; null: unlimited.' })),
          configured: nullable(Type.Number({ description: 'Maximum in the configuration; null: unlimited.' })),
        },
        { description: 'Speed of a simulation; null for other services.' },
      ),
    ),
    errors: Errors,
  }),
)

const StepTick = Type.Integer({ minimum: 0 })
export const StepReportSchema = strict({
  from: StepTick,
  to: StepTick,
  ticks: Type.Integer({
    minimum: 0,
    description: 'Ticks made: fewer than requested if the run ended, or was stopped or resumed meanwhile.',
  }),
})

const ResourceStatusSchema = strict({
  name: Type.String(),
  kind: Type.Enum(['topics', 'storage', 'index', 'queue']),
  state: Type.Enum(['CLOSED', 'OPEN', 'ERROR']),
  healthy: Type.Boolean(),
  metrics: Metrics,
  errors: Errors,
})

const Bytes = Type.Number({ minimum: 0 })

const DiskStatusSchema = share(
  'DiskStatus',
  strict({
    healthy: Type.Boolean(),
    bytes: Type.Number({ description: 'Bytes in use, without free pages inside database files.' }),
    maxBytes: nullable(Type.Number({ description: 'Disk budget in bytes; null: unlimited.' })),
    freeBytes: nullable(Type.Number({ description: 'Free bytes on the disk with the least free space.' })),
    minFreeBytes: Type.Number({ description: 'Free bytes below which the sources pause.' }),
    bytesPerSecond: Type.Number({ description: 'Growth in bytes per second over the last minute.' }),
    secondsLeft: nullable(Type.Number({ description: 'Time until the sources pause at this growth rate.' })),
    paused: Type.Boolean({
      description: 'Whether the sources are paused until space is free. They resume by themselves.',
    }),
    reason: nullable(Type.String({ description: 'Reason for the pause, and what to do.' })),
    pausedSince: nullable(Time),
    parts: Type.Array(
      strict({
        name: Type.String(),
        kind: Type.Enum(['storage', 'index', 'topics', 'states']),
        bytes: Bytes,
        reusableBytes: Bytes,
      }),
    ),
  }),
)

export const PipelineStatusSchema = share(
  'PipelineStatus',
  strict({
    healthy: Type.Boolean(),
    services: Type.Array(ServiceStatusSchema),
    resources: Type.Array(ResourceStatusSchema),
    disk: DiskStatusSchema,
  }),
)

export const StartReportSchema = strict({
  started: Type.Array(Type.String()),
  waiting: Type.Array(Type.String(), {
    description: 'Services that start by themselves once their dependencies are available.',
  }),
  failed: Type.Array(strict({ service: Type.String(), name: Type.String(), message: Type.String() })),
})
