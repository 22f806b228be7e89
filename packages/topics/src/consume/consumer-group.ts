import { DuplicateConsumerError, groupName, MembershipError } from '../errors.ts'
import { checkName } from '../options/names.ts'
import { Options } from '../options/options.ts'
import { readSchema } from '../payload/schema.ts'
import type { Runtime } from '../runtime.ts'
import type { StartPosition, SubscriptionStatus } from '../stores/subscription-record.ts'
import type { SubscriptionSettings } from '../stores/subscriptions.ts'
import { Claimer } from './claimer.ts'
import { decodingOf } from './decode.ts'
import { Dispatcher } from './dispatcher.ts'
import { withFreeBit } from './free-bits.ts'
import type { ConsumerOptions, GroupOptions, StartOptions, StopOptions } from './group-options.ts'
import { GroupRun } from './group-run.ts'
import { type Filter, type Handler, Member } from './member.ts'
import { parseFrom } from './start-position.ts'
import { parseSubscription } from './subscription-options.ts'

const DEFAULT_BATCH = 200
const LARGEST_BATCH = 10_000
const DEFAULT_STOP_MS = 10_000

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
  /**
   * No batch size was given: a message on its only attempt shares its process with no others that a crash would take
   * along.
   */
  readonly #isCareful: boolean
  readonly #leaseMs: number | undefined
  readonly #autoExtendMs: number | undefined
  #run: GroupRun<T> | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined

  private constructor(runtime: Runtime, topic: string, group: string | undefined, given: GroupOptions<T> | undefined) {
    const options = new Options('consumerGroup', given)
    const schema = readSchema<T>(options)
    const sharedPayloads = options.boolean('sharedPayloads', false)
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
    this.#dispatcher = new Dispatcher(runtime, decodingOf(runtime, topic, schema, sharedPayloads), filter)
  }

  /** @internal */
  static create<T>(runtime: Runtime, topic: string, group?: string, options?: GroupOptions<T>): ConsumerGroup<T> {
    return new ConsumerGroup<T>(runtime, topic, group, options)
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
    // Before start() its ids are not reserved: they may be another group's.
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
    // A queue has one implicit group; the given name is only a label.
    this.#group = topic.config.semantics === 'queue' ? '' : this.#label
    if (topic.config.semantics === 'pub-sub' && this.#label === '') {
      throw new MembershipError(`Topic '${this.topic}' is pub-sub: give the group a name`)
    }
    const subscription = await withFreeBit(this.#runtime, () =>
      this.#runtime.store.subscriptions.subscribe(topic, this.#group, from, settings),
    )
    // A close() that has begun in the meantime does not know this group, and would not stop it.
    this.#runtime.assertOpen()
    this.#takeIds()
    const claimer = new Claimer(this.#runtime, topic, subscription, this.consumers.join(','), {
      leaseMs: this.#leaseMs,
      isCareful: this.#isCareful,
    })
    const run = new GroupRun(this.#runtime, this.#dispatcher, claimer, {
      batchSize: this.#batchSize,
      autoExtendMs: this.#autoExtendMs,
      onEnded: reason => this.#run === run && this.#stopBecause(reason),
    })
    this.#run = run
    run.join()
    this.#runtime.started.add(this)
    this.#runtime.instrumentation.emit('group-started', {
      ...this.#where(),
      created: subscription.created,
      skipped: subscription.skipped,
      status: subscription.status,
    })
    if (subscription.resurrected) this.#runtime.instrumentation.resurrected(this.#where(), subscription.resurrected)
    run.consume()
    await this.#runtime.backfills.start(topic, subscription)
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

  async #finish(run: GroupRun<T>, timeoutMs: number, reason: Error | undefined): Promise<void> {
    await run.finish(timeoutMs)
    this.#runtime.started.delete(this)
    for (const id of this.consumers) this.#freeId(id)
    this.#runtime.instrumentation.emit('group-stopped', { ...this.#where(), ...(reason && { reason }) })
  }

  /** Not awaited: stopping waits for the loop that calls this. */
  #stopBecause(reason: Error): void {
    this.#stop(DEFAULT_STOP_MS, reason).catch(() => undefined)
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

  /** Counts the member's work for this group, whose name is known from here on. */
  #count(member: Member<T>): void {
    member.meter = this.#runtime.instrumentation.metrics.consumer(this.topic, this.#group, member.id)
  }

  #running(verb: string): GroupRun<T> {
    if (this.#run) return this.#run
    throw new MembershipError(
      `${groupName(this.#label)} of topic '${this.topic}' is not started; ${verb}() needs start() first`,
    )
  }

  #where(): { topic: string; group: string } {
    return { topic: this.topic, group: this.#group }
  }
}
