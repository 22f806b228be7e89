import { isThenable, toError } from '../errors/failure.ts'
import type { BackfillStatus } from '../stores/backfills.ts'
import type { Resurrected } from '../stores/subscription-record.ts'
import type { Logger } from './logger.ts'
import { MetricsRegistry } from './metrics/metrics.ts'
import type { Counted } from './metrics/scope.ts'
import { type OutageBegan, type OutageEnded, Outages } from './outages.ts'

/** Why a group lost messages. */
export type LossReason = 'max-retention' | 'zombie-advanced' | 'resurrection' | 'cleaned-while-dead'

/**
 * How the loss of commits was detected: a group's cursor is at an earlier position, a lease of this process is
 * unknown, a new message has an id that another message had, or a cursor is ahead of the log (nothing is claimed until
 * a repair).
 */
export type RewindSign = 'position' | 'lease' | 'message' | 'cursor'

type InGroup = { readonly topic: string; readonly group: string }
type OneMessage = InGroup & { readonly messageId: string }

/** All events by name, for `tm.on`. Frequent events are emitted once per page, with a count. */
export type Events = {
  /** Messages were published. */
  published: { readonly topic: string; readonly count: number; readonly duplicates: number }
  /** Messages were claimed by a group. */
  received: InGroup & { readonly count: number }
  /** Messages were acknowledged. */
  acked: InGroup & { readonly count: number }
  /** Messages were rejected by a filter. */
  filtered: InGroup & { readonly count: number }
  /** Messages were released without counting an attempt. */
  released: InGroup & { readonly count: number }
  /** An attempt failed. `retryInMs` is null if it was the last. */
  nacked: OneMessage & { readonly attempt: number; readonly error: Error; readonly retryInMs: number | null }
  /** Messages are redelivered after a failure or an expired lease. */
  retried: InGroup & { readonly count: number }
  /** Messages were dead-lettered. */
  'dead-lettered': InGroup & { readonly count: number }
  /** A settlement of `count` messages came too late; the first of them is named. */
  stale: OneMessage & { readonly version: number; readonly count: number }
  /** The lease of `consumer` expired. `messages` has the first 20 messages it held. */
  'taken-over': InGroup & {
    readonly consumer: string
    /** Consumer that noticed it. The messages may go to others. */
    readonly by: string
    readonly count: number
    readonly messages: readonly { readonly id: number; readonly messageId: string; readonly version: number }[]
  }
  /** An operator released a claim of `consumer`; its messages are redelivered. */
  'claim-released': InGroup & {
    readonly consumer: string
    readonly count: number
    readonly messages: readonly { readonly id: number; readonly messageId: string; readonly version: number }[]
  }
  /** A claim had to wait for another claim of the same group. */
  'claim-conflict': InGroup
  /** A group was started. `skipped`: retained messages before the start of a new group that its limit left out. */
  'group-started': InGroup & { readonly created: boolean; readonly status: string; readonly skipped: number }
  /** A group was paused. */
  'group-paused': InGroup
  /** A group was resumed. */
  'group-resumed': InGroup
  /** A group was stopped, or ended with the `reason`. */
  'group-stopped': InGroup & { readonly reason?: Error }
  /** A group sent no heartbeat for a whole timeout. After `of` misses it is dead. */
  'group-missed': InGroup & { readonly misses: number; readonly of: number }
  /** A group was marked dead. */
  'group-dead': InGroup & { readonly silentMs: number }
  /**
   * A dead group is active again. `skipped` messages were left out, `lost` were cleaned up, and others may be
   * delivered by `backfill`.
   */
  'group-resurrected': InGroup & Resurrected
  /** A group was cancelled. */
  'group-cancelled': InGroup
  /** The heartbeats of a group fail, so it stops claiming until one succeeds. */
  'group-suspended': InGroup & { readonly failures: number; readonly error: Error }
  /** The heartbeats of a suspended group succeed again. */
  'group-recovered': InGroup & { readonly ms: number }
  /** The database fails. Emitted once until it works again; `kind` names the operation. */
  outage: OutageBegan
  /** The database works again. */
  'outage-ended': OutageEnded
  /** A group lost messages, for this reason. */
  'messages-lost': InGroup & { readonly count: number; readonly reason: LossReason }
  /** A pub-sub topic has messages and no subscription. */
  'topic-unsubscribed': { readonly topic: string; readonly messages: number; readonly oldestAt: Date }
  /** A live group with waiting messages has made no progress for the `zombieTtl` of its topic. */
  zombie: InGroup & { readonly movedAt: Date; readonly waiting: number }
  /**
   * Progress of a backfill, at most once a second: `done` of `total` messages were examined, `processed` of them were
   * assigned to the group.
   */
  'backfill-progress': InGroup & {
    readonly processed: number
    readonly done: number
    readonly total: number
    /** Messages per second. */
    readonly rate: number
    readonly etaMs: number | null
  }
  /** A backfill ended. */
  'backfill-ended': InGroup & { readonly status: BackfillStatus; readonly processed: number; readonly error?: Error }
  /** A maintenance job ended. */
  'job-ended': {
    readonly job: string
    readonly ms: number
    readonly result: Readonly<Record<string, number>>
    readonly error?: Error
  }
  /** Messages past their retention were removed. */
  'clean-up': { readonly topic: string; readonly count: number; readonly partitionsDropped: number }
  /** SQLite only: the clock of this process differs from the file's, so nothing is removed by age. Positive: ahead. */
  'clock-off': { readonly offsetMs: number }
  /** SQLite only: the clock of this process agrees with the file's again. */
  'clock-right': { readonly offsetMs: number }
  /** A group was removed. */
  'group-removed': InGroup
  /** An operator moved a group to another position. */
  'group-reset': InGroup
  /** An operator acknowledged the lost messages of a group. */
  'loss-acknowledged': InGroup & { readonly count: number }
  /** A topic was deleted. */
  'topic-deleted': { readonly topic: string }
  /**
   * The namespace was dropped or created again, or its file was removed or replaced. Groups, jobs and heartbeats have
   * stopped.
   */
  'namespace-gone': { readonly namespace: string; readonly error: Error }
  /** Dead letters were redriven. */
  redriven: { readonly topic: string; readonly count: number }
  /** Dead letters were deleted. */
  discarded: { readonly topic: string; readonly count: number }
  /**
   * The database has lost commits that this process knows of (a crash without sync, a failover to a lagging replica),
   * or was restored from a copy. Emitted once per group or topic each time.
   */
  'database-rewound': { readonly topic: string; readonly group?: string; readonly sign: RewindSign }
  /** An attempt failed; it is retried where possible. Repeated failures are summed up by `outage`. */
  error: { readonly topic: string; readonly group?: string; readonly action: string; readonly error: Error }
}

/** Name of an event. */
export type EventName = keyof Events

/** Every state change passes through here: it feeds the metrics, the log and the listeners. */
export class Instrumentation {
  readonly metrics = new MetricsRegistry()
  readonly outages = new Outages({
    began: outage => this.emit('outage', outage),
    ended: outage => this.emit('outage-ended', outage),
  })
  readonly logger: Logger
  readonly #listeners = new Map<EventName, ((event: never) => unknown)[]>()

  constructor(logger: Logger) {
    this.logger = logger
  }

  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    // A new function each time, so that a listener added twice is removed once; lists are replaced, so that emit() can
    // continue.
    const heard = (event: Events[Name]): unknown => listener(event)
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), heard])
    return () => {
      const others = (this.#listeners.get(name) ?? []).filter(each => each !== heard)
      if (others.length > 0) this.#listeners.set(name, others)
      else this.#listeners.delete(name)
    }
  }

  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    this.#log(name, event)
    this.#tell(name, event)
  }

  /** Events of one kind that happened at once: each is emitted and counted, and one log line stands for all. */
  emitAll<Name extends EventName>(name: Name, events: readonly Events[Name][]): void {
    const [first] = events
    if (first === undefined) return
    this.#log(name, events.length === 1 ? first : { ...first, count: events.length })
    for (const event of events) this.#tell(name, event)
  }

  #tell<Name extends EventName>(name: Name, event: Events[Name]): void {
    this.#count(name, event)
    this.#forget(name, event)
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    for (const listener of listeners) this.guard(`a listener of '${name}'`, () => listener(event as never))
  }

  /** Runs a user callback: whatever it throws, now or as a promise, is logged and changes nothing. */
  guard(what: string, callback: () => unknown): void {
    const report = (error: unknown): void =>
      this.logger.error({ err: toError(error), callback: what }, 'a callback threw')
    try {
      const answer = callback()
      if (isThenable(answer)) Promise.resolve(answer).catch(report)
    } catch (error) {
      report(error)
    }
  }

  /** A dead group is active again; messages skipped because of a limit, or cleaned up meanwhile, are lost to it. */
  resurrected(where: InGroup, resurrected: Resurrected): void {
    this.emit('group-resurrected', { ...where, ...resurrected })
    const { skipped, lost } = resurrected
    if (lost > 0) this.emit('messages-lost', { ...where, count: lost, reason: 'cleaned-while-dead' })
    if (skipped > 0) this.emit('messages-lost', { ...where, count: skipped, reason: 'resurrection' })
  }

  #count(name: EventName, event: Events[EventName]): void {
    const counted = COUNTED_AS[name]
    if (counted === undefined) return
    const { topic, group, count = 1, duplicates = 0, error } = event as AnyEvent
    this.metrics.add(counted, count, topic, group)
    this.metrics.add('duplicates', duplicates, topic)
    if (name === 'job-ended' && error !== undefined) this.metrics.add('jobsFailed', 1)
  }

  /** Removes the figures of what is gone. */
  #forget(name: EventName, event: Events[EventName]): void {
    const { topic = '', group = '' } = event as AnyEvent
    if (name === 'topic-deleted') this.metrics.forgetTopic(topic)
    else if (name === 'group-removed') this.metrics.forgetGroup(topic, group)
  }

  #log(name: EventName, event: Events[EventName]): void {
    const { error, reason, ...fields } = event as AnyEvent
    const err = error ?? reason
    const [level, text] = (err === undefined ? undefined : failedAs(name, fields.action)) ?? LOGGED_AS[name]
    this.logger[level](err === undefined ? fields : { ...fields, err }, text)
  }
}

type AnyEvent = {
  readonly topic?: string
  readonly group?: string
  readonly count?: number
  readonly duplicates?: number
  readonly error?: Error
  readonly reason?: Error
  readonly action?: string
}

const COUNTED_AS: { readonly [name in EventName]?: Counted } = {
  published: 'published',
  received: 'received',
  acked: 'acked',
  nacked: 'nacked',
  retried: 'retried',
  released: 'released',
  filtered: 'filtered',
  'dead-lettered': 'deadLettered',
  stale: 'staleRejected',
  'taken-over': 'takenOver',
  'claim-conflict': 'claimConflicts',
  error: 'errors',
  'group-dead': 'deadGroups',
  'group-resurrected': 'resurrected',
  'messages-lost': 'lost',
  'database-rewound': 'rewound',
  'clean-up': 'cleaned',
  'job-ended': 'jobsRun',
}

/** INFO for the life cycle, WARN for what heals itself, ERROR for what needs a person, DEBUG for the rest. */
const LOGGED_AS: { readonly [name in EventName]: readonly [level: keyof Logger, text: string] } = {
  published: ['debug', 'published'],
  received: ['debug', 'received'],
  acked: ['debug', 'acked'],
  nacked: ['debug', 'a handler failed'],
  retried: ['debug', 'tried again'],
  released: ['debug', 'given back'],
  filtered: ['debug', 'filtered'],
  'claim-conflict': ['debug', 'claim conflict'],
  'group-started': ['info', 'group started'],
  'group-paused': ['info', 'group paused'],
  'group-resumed': ['info', 'group resumed'],
  'group-stopped': ['info', 'group stopped'],
  'group-resurrected': ['info', 'group resurrected'],
  'group-cancelled': ['info', 'group cancelled'],
  'backfill-progress': ['debug', 'backfill under way'],
  'backfill-ended': ['info', 'backfill ended'],
  'job-ended': ['debug', 'job ended'],
  'clean-up': ['debug', 'messages cleaned up'],
  'group-suspended': ['warn', 'heartbeats fail: the group claims nothing until one succeeds'],
  'group-recovered': ['info', 'heartbeats succeed again: the group goes on'],
  outage: ['warn', 'the database fails; trying again'],
  'outage-ended': ['info', 'the database works again'],
  'group-missed': ['warn', 'a group missed its heartbeats'],
  'group-dead': ['error', 'a group is dead: nothing waits for it any more'],
  'messages-lost': ['error', 'messages are lost to a group'],
  'topic-unsubscribed': ['warn', 'nobody is subscribed to a topic that keeps messages'],
  zombie: ['warn', 'a group has messages waiting and does not move'],
  'clock-off': ['warn', "this process's clock is far from the database's: it removes nothing for its age"],
  'clock-right': ['info', "this process's clock agrees with the database's again"],
  'group-removed': ['info', 'group removed'],
  'claim-released': ['info', 'claim released by an operator'],
  'group-reset': ['info', 'group moved to another position'],
  'loss-acknowledged': ['info', 'a loss was acknowledged'],
  'topic-deleted': ['info', 'topic deleted'],
  'namespace-gone': ['error', 'the namespace is gone: everything here has stopped'],
  redriven: ['info', 'dead letters brought back'],
  discarded: ['info', 'dead letters discarded'],
  stale: ['warn', 'stale settlement rejected'],
  'taken-over': ['warn', 'an expired lease was taken over'],
  error: ['warn', 'failed; trying again'],
  'database-rewound': ['warn', 'the database has lost commits that this process knows of'],
  'dead-lettered': ['error', 'messages moved to the dead letters'],
}

/** The same, if it happened because of a failure. */
const FAILED_AS: { readonly [name in EventName]?: readonly [level: keyof Logger, text: string] } = {
  'group-stopped': ['error', 'the group was stopped'],
  'backfill-ended': ['error', 'a backfill failed'],
  'job-ended': ['warn', 'a job failed; it runs again at its next turn'],
}

/** Failures that an outage reports once, instead of a line for every attempt. */
const TOLD_AS_OUTAGE = new Set(['publish', 'claim', 'settle', 'extend', 'heartbeat'])

const failedAs = (name: EventName, action: string | undefined) =>
  name === 'error' && TOLD_AS_OUTAGE.has(action ?? '') ? (['debug', 'an attempt failed'] as const) : FAILED_AS[name]
