import { setTimeout as delay } from 'node:timers/promises'
import type { BackfillOptions } from '../backfill/backfill-plan.ts'
import { type Backoff, backoffMs, spread } from '../backoff.ts'
import {
  DuplicateConsumerError,
  groupName,
  MembershipError,
  NamespaceGoneError,
  SubscriptionGoneError,
  TidemarkError,
} from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import { checkName } from '../options/names.ts'
import { Options } from '../options/options.ts'
import { isSchema, type Schema } from '../payload/schema.ts'
import type { Runtime } from '../runtime.ts'
import type { StartPosition, SubscriptionStatus } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import { withTimeout } from '../with-timeout.ts'
import { Claimer } from './claimer.ts'
import { Dispatcher } from './dispatcher.ts'
import type { HeartbeatOptions } from './heartbeat-options.ts'
import type { Beating } from './heartbeat-sender.ts'
import type { HeldLease } from './held-lease.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { type Filter, type Handler, Member } from './member.ts'
import { withRoom } from './room.ts'
import { type From, parseFrom } from './start-position.ts'
import { parseSubscription } from './subscription-options.ts'

/** Options of a consumer group. */
export type GroupOptions<T = unknown> = {
  /** Standard Schema validator. It validates every payload and types the handler. */
  schema?: Schema<T>
  /**
   * Maximum number of messages per claim (default 200). Fewer are claimed while handlers are slow, so that other
   * processes get a share. With `maxAttempts: 1` the default is the number of concurrent handlers, and nothing is
   * claimed ahead.
   */
  batchSize?: number
  /** Filter of the group. Messages it rejects count as processed. */
  filter?: Filter<T>
  /** Duration of a claim before others may take it over; 0 never expires (default: the lease of the topic). */
  lease?: Duration
  /**
   * Maximum time for which the lease is extended automatically while a handler runs. Without it, only `extend()`
   * extends a lease.
   */
  autoExtend?: Duration
  /** Decode each payload once for all groups of the process with this option. Payloads are frozen. */
  sharedPayloads?: boolean
}

/** Options of a consumer. */
export type ConsumerOptions<T = unknown> = {
  /** Filter of this consumer. Messages it rejects go to other consumers, or count as processed. */
  filter?: Filter<T>
  /** Maximum number of handlers running at the same time (default 1). */
  concurrency?: number
}
/** Options of `start`. */
export type StartOptions = {
  /** Start position of a new group (default `'now'`). */
  from?: From
  /** Heartbeats of the group. */
  heartbeat?: HeartbeatOptions
  /** Limits of the earlier messages that a new group receives; `false`: none. */
  backfill?: BackfillOptions | false
}
/** Options of `stop` and `close`. */
export type StopOptions = {
  /** Maximum wait for running handlers (default 10 s). */
  timeout?: Duration
}

const DEFAULT_BATCH = 200
const LARGEST_BATCH = 10_000
/** Before any handler has been timed. */
const FIRST_BATCH = 16
/** A claim takes about this much work at once, and never more than an eighth of the lease. */
const WORK_PER_CLAIM_MS = 1_000
const RETRY: Backoff = { initialMs: 100, maxMs: 5_000, factor: 2 }
const DEFAULT_STOP_MS = 10_000

type Run = {
  readonly claimer: Claimer
  readonly keeper: LeaseKeeper
  readonly beating: Beating
  readonly stopping: AbortController
  loop: Promise<void>
}

/**
 * The consumers of a group in this process. They share the messages that the group claims.
 *
 *     idle ──start──▶ running ──stop / subscription gone──▶ idle
 *
 * `pause()` and `resume()` change the subscription itself, for all processes.
 */
export class ConsumerGroup<T = unknown> implements AsyncDisposable {
  /** Name of the topic. */
  readonly topic: string
  /** '' in a queue. */
  #group: string
  readonly #label: string
  readonly #runtime: Runtime
  readonly #dispatcher: Dispatcher<T>
  readonly #batchSize: number
  /** No batch size was asked for: a message on its only attempt has no company that a death of the process takes along. */
  readonly #isCareful: boolean
  readonly #leaseMs: number | undefined
  readonly #autoExtendMs: number | undefined
  #run: Run | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  constructor(runtime: Runtime, topic: string, group: string | undefined, given: GroupOptions<T> | undefined) {
    const options = new Options('consumerGroup', given)
    const decoding = {
      schema: options.object<Schema<T>>('schema', isSchema, 'a Standard Schema (Zod, Valibot, ArkType, …)'),
      sharedPayloads: options.boolean('sharedPayloads', false),
    }
    this.#isCareful = given?.batchSize === undefined
    this.#batchSize = options.integer('batchSize', DEFAULT_BATCH, { min: 1, max: LARGEST_BATCH })
    this.#leaseMs = options.duration('lease', undefined)
    this.#autoExtendMs = options.duration('autoExtend', undefined, { min: 1 })
    const filter = options.function<Filter<T>>('filter')
    options.done()
    this.topic = checkName('topic', topic)
    this.#label = group === undefined ? '' : checkName('group', group)
    this.#group = this.#label
    this.#runtime = runtime
    this.#dispatcher = new Dispatcher(runtime, decoding, filter)
  }

  /** Name of the group. */
  get name(): string {
    return this.#label
  }

  /** Ids of the consumers in this process. */
  get consumers(): string[] {
    return [...this.#dispatcher.members.keys()]
  }

  /** Last known status of the subscription; undefined before `start()`. */
  get status(): SubscriptionStatus | undefined {
    return this.#run?.claimer.status
  }

  /** Whether the group is started in this process. */
  get running(): boolean {
    return this.#run !== undefined
  }

  /**
   * Add a consumer. Within a process, messages with the same key go to the same consumer. If the handler throws, the
   * message is redelivered after the backoff.
   *
   * @example
   * group.addConsumer('email-1', async ({ payload, attempt }, { signal, extend }) => {
   *   console.log(payload.orderId, attempt, signal.aborted)
   *   await extend('1m')
   * }, { concurrency: 4 })
   */
  addConsumer(id: string, handler: Handler<T>, given?: ConsumerOptions<T>): this {
    const options = new Options('addConsumer', given)
    const settings = {
      filter: options.function<Filter<T>>('filter'),
      concurrency: options.integer('concurrency', 1, { min: 1, max: 10_000 }),
    }
    options.done()
    checkName('consumer', id)
    if (typeof handler !== 'function') throw new MembershipError(`Consumer '${id}' needs a handler function`)
    if (this.#dispatcher.members.has(id)) throw new DuplicateConsumerError(this.topic, this.#group, id)
    if (this.#run) this.#runtime.consumerIds.take(this.topic, this.#group, id)
    else this.#runtime.consumerIds.check(this.topic, this.#group, id)
    const member = new Member(id, handler, settings, this.#dispatcher)
    this.#dispatcher.add(member)
    if (this.#run) this.#count(member)
    return this
  }

  /**
   * Remove a consumer. It finishes running handlers; its other messages go to the remaining consumers.
   *
   * @example
   * group.removeConsumer('email-1')
   */
  removeConsumer(id: string): boolean {
    if (!this.#dispatcher.members.has(id)) return false
    if (this.#run && this.#dispatcher.members.size === 1) {
      throw new MembershipError(
        `'${id}' is the last consumer of the started ${groupName(this.#group)}. Stop the group first, or add another`,
      )
    }
    this.#dispatcher.remove(id)
    // Before start() its ids are not taken: they may be another group's.
    if (this.#run) this.#freeId(id)
    return true
  }

  /**
   * Subscribe if the group is new, and consume until `stop()`. Does nothing while the group is running.
   *
   * @example
   * await group.start({ from: 'beginning', backfill: { maxMessages: 10_000 } })
   */
  async start(given?: StartOptions): Promise<void> {
    const options = new Options('start', given)
    const from = parseFrom('start.from', options.value('from'))
    const settings = parseSubscription('start', options, this.#runtime.heartbeatDefaults)
    options.done()
    this.#runtime.assertOpen()
    if (this.#dispatcher.members.size === 0) {
      throw new MembershipError(`${groupName(this.#group)} has no consumer. Call addConsumer() before start()`)
    }
    await this.#stopping
    if (this.#run) return
    this.#starting ??= this.#start(from, settings).finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  /**
   * Pause the group in all processes (ACTIVE to PAUSED). Running handlers finish; nothing new is claimed.
   *
   * @example
   * await group.pause()
   */
  async pause(): Promise<void> {
    const { claimer } = this.#running('pause')
    await this.#runtime.store.subscriptions.setStatus(claimer.topic, claimer.subscription, 'PAUSED')
    this.#dispatcher.releaseQueued()
    this.#runtime.instrumentation.emit('group-paused', this.#where())
  }

  /**
   * Resume the group in all processes (PAUSED to ACTIVE).
   *
   * @example
   * await group.resume()
   */
  async resume(): Promise<void> {
    const { claimer } = this.#running('resume')
    await this.#runtime.store.subscriptions.setStatus(claimer.topic, claimer.subscription, 'ACTIVE')
    this.#runtime.instrumentation.emit('group-resumed', this.#where())
    this.#runtime.wakeHub.wake(claimer.topic.id)
  }

  /**
   * Stop claiming, release messages whose handlers have not started, and wait for running handlers. After the timeout
   * (default 10 s) their signals are aborted and their messages are redelivered; that attempt counts. Repeating it is
   * safe.
   *
   * @example
   * await group.stop({ timeout: '30s' })
   */
  async stop(given?: StopOptions): Promise<void> {
    const options = new Options('stop', given)
    const timeoutMs = options.duration('timeout', DEFAULT_STOP_MS)
    options.done()
    await this.#starting?.catch(() => undefined)
    await this.#stop(timeoutMs)
  }

  /**
   * Stop, and cancel the subscription permanently.
   *
   * @example
   * await group.cancel()
   */
  async cancel(given?: StopOptions): Promise<void> {
    const { claimer } = this.#running('cancel')
    await this.stop(given)
    await this.#runtime.store.subscriptions.setStatus(claimer.topic, claimer.subscription, 'CANCELLED')
    this.#runtime.instrumentation.emit('group-cancelled', this.#where())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #start(from: StartPosition, settings: SubscriptionSettings): Promise<void> {
    const topic = await this.#runtime.topics.toConsume(this.topic)
    // A queue has one implicit group; the name given is only a label.
    this.#group = topic.config.semantics === 'queue' ? '' : this.#label
    if (topic.config.semantics === 'pub-sub' && this.#label === '') {
      throw new MembershipError(`Topic '${this.topic}' is pub-sub: give the group a name`)
    }
    const subscription = await withRoom(this.#runtime, () =>
      this.#runtime.store.subscriptions.subscribe(topic, this.#group, from, settings),
    )
    // A close() that has begun meanwhile does not know of this group, and would not stop it.
    this.#runtime.assertOpen()
    this.#takeIds()
    const claimer = new Claimer(this.#runtime, topic, subscription, this.consumers.join(','), {
      leaseMs: this.#leaseMs,
      isCareful: this.#isCareful,
    })
    const keeper = new LeaseKeeper(this.#runtime, this.#dispatcher, claimer, this.#autoExtendMs)
    const stopping = new AbortController()
    const beating: Beating = {
      topic,
      subscription,
      resurrected: () => {
        claimer.wake()
        // Reports what goes wrong by itself.
        void this.#runtime.backfills.start(topic, subscription)
      },
      ended: reason => this.#run === run && this.#stopBecause(reason),
    }
    const run: Run = { claimer, keeper, beating, stopping, loop: Promise.resolve() }
    this.#run = run
    this.#runtime.heartbeats.join(beating)
    this.#dispatcher.onMoving = () => claimer.wake()
    this.#runtime.started.add(this)
    this.#runtime.instrumentation.emit('group-started', {
      ...this.#where(),
      created: subscription.created,
      skipped: subscription.skipped,
      status: subscription.status,
    })
    if (subscription.resurrected) this.#runtime.instrumentation.resurrected(this.#where(), subscription.resurrected)
    run.loop = this.#consume(run)
    await this.#runtime.backfills.start(topic, subscription)
  }

  /** The next page is asked for before this one is worked on, so the database and the handlers work side by side. */
  async #consume(run: Run): Promise<void> {
    let next: Promise<HeldLease | null> | undefined
    while (!run.stopping.signal.aborted) {
      next ??= this.#claim(run)
      const held = await next
      next = undefined
      if (held === null) continue
      if (this.#dispatcher.outstanding + held.open <= this.#pageLimit(run)) next = this.#claim(run)
      // Lets the claim go out, and other work have its turn: handlers may never give way.
      await new Promise(resolve => setImmediate(resolve))
      if (run.stopping.signal.aborted) this.#giveBack(held)
      else {
        this.#dispatcher.dispatch(held)
        run.keeper.watch(held)
      }
      if (next === undefined) await this.#dispatcher.room(this.#pageLimit(run) + 1)
    }
    const unused = await next
    if (unused) this.#giveBack(unused)
  }

  /** A lease, or null when stopping. What goes wrong was reported where it happened, and is tried again, for ever. */
  async #claim(run: Run): Promise<HeldLease | null> {
    const { signal } = run.stopping
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await run.claimer.next({
          limit: this.#pageLimit(run),
          timeoutMs: Number.POSITIVE_INFINITY,
          signal,
          holdOffMs: () => this.#dispatcher.holdOffMs,
        })
      } catch (error) {
        if (error instanceof SubscriptionGoneError || error instanceof NamespaceGoneError) {
          this.#stopBecause(error)
          return null
        }
        await delay(spread(backoffMs(RETRY, failures)), undefined, { signal }).catch(() => undefined)
      }
    }
    return null
  }

  #pageLimit({ claimer }: Run): number {
    const { averageMs, concurrency } = this.#dispatcher
    if (claimer.isSingleAttempt) return concurrency
    if (averageMs === undefined) return Math.min(this.#batchSize, Math.max(FIRST_BATCH, concurrency))
    const { leaseMs } = claimer
    const workMs = leaseMs === 0 ? WORK_PER_CLAIM_MS : Math.min(WORK_PER_CLAIM_MS, leaseMs / 8)
    const fits = Math.floor((workMs / Math.max(averageMs, 0.001)) * concurrency)
    return Math.min(this.#batchSize, Math.max(concurrency, fits))
  }

  async #stop(timeoutMs: number, reason?: Error): Promise<void> {
    const run = this.#run
    if (run === undefined) return await this.#stopping
    this.#run = undefined
    this.#stopping = this.#finish(run, timeoutMs, reason).finally(() => {
      this.#stopping = undefined
    })
    await this.#stopping
  }

  async #finish(run: Run, timeoutMs: number, reason: Error | undefined): Promise<void> {
    const deadline = performance.now() + timeoutMs
    run.stopping.abort()
    this.#dispatcher.wakeWaiters()
    // A claim that the database doesn't answer is not waited for; what it may bring is given back.
    await withTimeout(run.loop, timeoutMs)
    this.#dispatcher.releaseQueued()
    await withTimeout(this.#dispatcher.room(1), deadline - performance.now())
    this.#dispatcher.abortRunning(
      new TidemarkError('TIDEMARK_STOPPED', 'The group was stopped before the handler finished'),
    )
    await withTimeout(this.#runtime.settler.drain(), Math.max(1_000, deadline - performance.now()))
    await this.#runtime.heartbeats.leave(run.beating, Math.max(1_000, deadline - performance.now()))
    run.keeper.stop()
    run.claimer.close()
    this.#runtime.started.delete(this)
    for (const id of this.consumers) this.#freeId(id)
    this.#runtime.instrumentation.emit('group-stopped', { ...this.#where(), ...(reason && { reason }) })
  }

  /** Not awaited: the loop that found out is itself what stopping waits for. */
  #stopBecause(reason: Error): void {
    this.#stop(DEFAULT_STOP_MS, reason).catch(() => undefined)
  }

  #giveBack(held: HeldLease): void {
    const { messages, slots } = held.lease
    for (let index = 0; index < messages.length; index++) held.release(slots?.[index] ?? index)
    this.#runtime.settler.touch(held)
  }

  #takeIds(): void {
    const taken: string[] = []
    try {
      for (const id of this.consumers) {
        this.#runtime.consumerIds.take(this.topic, this.#group, id)
        taken.push(id)
      }
    } catch (error) {
      for (const id of taken) this.#runtime.consumerIds.free(this.topic, this.#group, id)
      throw error
    }
    for (const member of this.#dispatcher.members.values()) this.#count(member)
  }

  #freeId(id: string): void {
    this.#runtime.consumerIds.free(this.topic, this.#group, id)
    this.#runtime.instrumentation.metrics.forgetConsumer(this.topic, this.#group, id)
  }

  /** What the member does is counted as this group's, whose name is known from here on. */
  #count(member: Member<T>): void {
    member.meter = this.#runtime.instrumentation.metrics.consumer(this.topic, this.#group, member.id)
  }

  #running(verb: string): Run {
    if (this.#run) return this.#run
    throw new MembershipError(
      `${groupName(this.#label)} of topic '${this.topic}' is not started; ${verb}() needs start() first`,
    )
  }

  #where(): { topic: string; group: string } {
    return { topic: this.topic, group: this.#group }
  }
}
