import { isThenable, toError } from './failure.ts'
import type { Logger } from './logger.ts'
import { MetricsRegistry } from './metrics/metrics.ts'
import type { Counted } from './metrics/scope.ts'
import { type OutageBegan, type OutageEnded, Outages } from './outages.ts'
import type { BackfillStatus } from './stores/backfills.ts'
import type { Resurrected } from './stores/subscription-record.ts'

/** Why a group lost messages. */
export type LossReason = 'max-retention' | 'zombie-advanced' | 'resurrection' | 'cleaned-while-dead'

/**
 * By what it was noticed: a group's cursor stands where it stood before, a lease of this process is unknown, a new message has
 * an id that was given to another, or a cursor lies ahead of the log (then nothing is claimed until a repair).
 */
export type RewindSign = 'position' | 'lease' | 'message' | 'cursor'

type InGroup = { readonly topic: string; readonly group: string }
type OneMessage = InGroup & { readonly messageId: string }

/** Everything that happens, by the name `tm.on` takes. Frequent events come once per page, with a count. */
export type Events = {
  published: { readonly topic: string; readonly count: number; readonly duplicates: number }
  received: InGroup & { readonly count: number }
  acked: InGroup & { readonly count: number }
  filtered: InGroup & { readonly count: number }
  released: InGroup & { readonly count: number }
  /** A failed attempt; `retryInMs` is null where it was the last. */
  nacked: OneMessage & { readonly attempt: number; readonly error: Error; readonly retryInMs: number | null }
  /** A message that failed before, or whose lease ran out, is being tried again. */
  retried: InGroup & { readonly count: number }
  'dead-lettered': InGroup & { readonly count: number }
  /** One settlement that came too late, for `count` messages; the first of them is named. */
  stale: OneMessage & { readonly version: number; readonly count: number }
  /** The lease of `consumer` ran out and was taken from it; `messages` are the first of those it held, 20 at most. */
  'taken-over': InGroup & {
    readonly consumer: string
    /** Who found it. The messages may go to others. */
    readonly by: string
    readonly count: number
    readonly messages: readonly { readonly id: number; readonly messageId: string; readonly version: number }[]
  }
  /** An operator took a claim from `consumer`; its messages are delivered again. */
  'claim-released': InGroup & {
    readonly consumer: string
    readonly count: number
    readonly messages: readonly { readonly id: number; readonly messageId: string; readonly version: number }[]
  }
  'claim-conflict': InGroup
  /** `skipped`: retained messages before the start of a new group, which a bound of its own left out. */
  'group-started': InGroup & { readonly created: boolean; readonly status: string; readonly skipped: number }
  'group-paused': InGroup
  'group-resumed': InGroup
  'group-stopped': InGroup & { readonly reason?: Error }
  /** A whole heartbeat timeout passed without one; after `of` misses the group is dead. */
  'group-missed': InGroup & { readonly misses: number; readonly of: number }
  'group-dead': InGroup & { readonly silentMs: number }
  /** Back from the dead; `skipped` messages were passed over, `lost` were cleaned up, the others may come by `backfill`. */
  'group-resurrected': InGroup & Resurrected
  'group-cancelled': InGroup
  /** Its heartbeats fail, so others may count it as dead: it claims nothing until one succeeds. */
  'group-suspended': InGroup & { readonly failures: number; readonly error: Error }
  /** They succeed again, and it goes on. */
  'group-recovered': InGroup & { readonly ms: number }
  /** The database fails, once for all attempts until it works again; `kind` says in what. */
  outage: OutageBegan
  'outage-ended': OutageEnded
  /** Messages a group will never get, and why. */
  'messages-lost': InGroup & { readonly count: number; readonly reason: LossReason }
  /** A pub-sub topic keeps messages and nobody is subscribed. */
  'topic-unsubscribed': { readonly topic: string; readonly messages: number; readonly oldestAt: Date }
  /** A live group with messages waiting has not moved for its topic's zombieTtl. */
  zombie: InGroup & { readonly movedAt: Date; readonly waiting: number }
  /** `done` of `total` messages were gone through, `processed` of them are for the group; at most once a second. */
  'backfill-progress': InGroup & {
    readonly processed: number
    readonly done: number
    readonly total: number
    /** Messages a second. */
    readonly rate: number
    readonly etaMs: number | null
  }
  'backfill-ended': InGroup & { readonly status: BackfillStatus; readonly processed: number; readonly error?: Error }
  'job-ended': {
    readonly job: string
    readonly ms: number
    readonly result: Readonly<Record<string, number>>
    readonly error?: Error
  }
  /** Messages that nobody needs any more were removed. */
  'clean-up': { readonly topic: string; readonly count: number; readonly partitionsDropped: number }
  /** SQLite: this process's clock is so far from the file's that nothing is removed; positive: ahead. And again near it. */
  'clock-off': { readonly offsetMs: number }
  'clock-right': { readonly offsetMs: number }
  'group-removed': InGroup
  /** Placed at another position by an operator. */
  'group-reset': InGroup
  /** An operator has taken note of what a group had lost. */
  'loss-acknowledged': InGroup & { readonly count: number }
  'topic-deleted': { readonly topic: string }
  /** It was dropped or made anew, or its file removed or replaced: groups, jobs and heartbeats have stopped. */
  'namespace-gone': { readonly namespace: string; readonly error: Error }
  /** Dead letters that went back into delivery, and that were deleted. */
  redriven: { readonly topic: string; readonly count: number }
  discarded: { readonly topic: string; readonly count: number }
  /**
   * The database no longer knows what it told this process: it lost its newest commits (a crash without a sync, a failover
   * to a replica that lagged behind), or was restored from a copy. Told once a group, or a topic, for each time.
   */
  'database-rewound': { readonly topic: string; readonly group?: string; readonly sign: RewindSign }
  /** An attempt failed; the work goes on where it can. Of what fails again and again, `outage` tells once. */
  error: { readonly topic: string; readonly group?: string; readonly action: string; readonly error: Error }
}

export type EventName = keyof Events

/** The one point every state change passes: it feeds the metrics, the log and the listeners. */
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
    // A function of its own, so that one that listens twice is taken away once; lists are replaced, so that emit() may go on.
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

  /** Events of one kind that happened at once: each is told and counted, and one line of the log stands for all. */
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

  /** Runs a callback of the user: what it throws, now or as a promise, is logged and changes nothing. */
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

  /** A group came back from the dead; what a bound made it pass over is lost to it, and what was cleaned up meanwhile. */
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

  /** What is gone has no figures any more. */
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

/** The same, where it happened because something failed. */
const FAILED_AS: { readonly [name in EventName]?: readonly [level: keyof Logger, text: string] } = {
  'group-stopped': ['error', 'the group was stopped'],
  'backfill-ended': ['error', 'a backfill failed'],
  'job-ended': ['warn', 'a job failed; it runs again at its next turn'],
}

/** Of these, an outage tells once what would otherwise be a line for every attempt. */
const TOLD_AS_OUTAGE = new Set(['publish', 'claim', 'settle', 'extend', 'heartbeat'])

const failedAs = (name: EventName, action: string | undefined) =>
  name === 'error' && TOLD_AS_OUTAGE.has(action ?? '') ? (['debug', 'an attempt failed'] as const) : FAILED_AS[name]
