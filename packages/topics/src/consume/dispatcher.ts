import { type Failure, toFailure } from '../errors/failure.ts'
import type { RawMessage } from '../payload/raw-message.ts'
import type { Runtime } from '../runtime.ts'
import { type Decoding, decodePayload } from './decode.ts'
import { LeasedDelivery } from './delivery.ts'
import type { HeldLease } from './held-lease.ts'
import type { Filter, Member, MemberEvents } from './member.ts'
import { passes, selectMember } from './selection.ts'

/** Weight of the newest measurement in the average time a handler takes. */
const NEWEST = 0.2
/** How long nothing is claimed while all handlers hang on leases that never expire. */
const STUCK_MS = 10_000

/** A message whose schema has not answered yet. */
type Checked = { readonly held: HeldLease; readonly index: number; readonly raw: RawMessage }

/** Dispatches the messages of a group's leases to its members, and counts those that are unfinished. */
export class Dispatcher<T> implements MemberEvents<T> {
  readonly members = new Map<string, Member<T>>()
  /** Leases with unfinished messages. */
  readonly leases = new Set<HeldLease>()
  /** Called when a handler finishes after all were stuck. */
  onMoving: (() => void) | undefined
  readonly #runtime: Runtime
  readonly #decoding: Decoding<T>
  readonly #filter: Filter<T> | undefined
  #memberList: Member<T>[] = []
  /** Removed members whose last handlers still run. */
  readonly #retired = new Set<Member<T>>()
  readonly #checked = new Set<Checked>()
  #outstanding = 0
  #stuckUntil = 0
  #averageMs: number | undefined
  #roomWaiters: { below: number; resolve: () => void }[] = []

  constructor(runtime: Runtime, decoding: Decoding<T>, filter: Filter<T> | undefined) {
    this.#runtime = runtime
    this.#decoding = decoding
    this.#filter = filter
  }

  add(member: Member<T>): void {
    this.members.set(member.id, member)
    this.#memberList = [...this.members.values()]
  }

  remove(id: string): void {
    const member = this.members.get(id)
    this.members.delete(id)
    this.#memberList = [...this.members.values()]
    if (member === undefined) return
    // Messages that it had not started go to the others.
    for (const delivery of member.takeQueued()) this.#accept(delivery)
    if (member.running.length > 0) this.#retired.add(member)
    this.#pumpAll()
  }

  /** Messages dispatched and not finished. */
  get outstanding(): number {
    return this.#outstanding
  }

  get concurrency(): number {
    return this.#memberList.reduce((sum, member) => sum + member.concurrency, 0)
  }

  /** Average duration of a handler; undefined before the first has finished. */
  get averageMs(): number | undefined {
    return this.#averageMs
  }

  dispatch(held: HeldLease): void {
    // Only messages that were delivered before have versions of their own.
    const isStuck = held.lease.versions !== null && this.#loseThoseBefore(held)
    this.leases.add(held)
    const { messages } = held.lease
    this.#outstanding += messages.length
    for (let index = 0; index < messages.length; index++) this.#prepare(held, index)
    this.#pumpAll()
    if (isStuck) this.giveUpWaiting(held)
  }

  /**
   * A lease whose open messages come again was taken from this process: an operator released it, or it expired. Returns
   * whether handlers of such messages occupy all workers, so that the new lease would only wait behind them.
   */
  #loseThoseBefore({ lease }: HeldLease): boolean {
    const ids = new Set(lease.messages.map(({ id }) => id))
    const lost = [...this.leases].filter(each => each.hasOpen(ids))
    if (lost.length === 0) return false
    for (const each of lost) each.lose()
    const running = this.#memberList.flatMap(member => member.running)
    return running.length >= this.concurrency && running.every(({ delivery }) => lost.includes(delivery.held))
  }

  /** Releases messages that have not been started, of all leases or the given one. */
  releaseQueued(of?: HeldLease): number {
    let released = 0
    for (const member of this.#memberList) {
      for (const delivery of member.takeQueued(each => of === undefined || each.held === of)) {
        delivery.release()
        this.#leave(delivery.held)
        released++
      }
    }
    return released
  }

  /** Releases messages whose schema has not answered yet: the group stops, and the answer would start their handler. */
  releaseChecked(): void {
    for (const { held, index, raw } of this.#checked) {
      new LeasedDelivery(this.#runtime, held, index, raw, undefined).release()
      this.#leave(held)
    }
    this.#checked.clear()
  }

  /** Aborts running handlers and counts them as failed, so that nobody waits for their leases. */
  abortRunning(reason: Error): void {
    for (const member of [...this.#memberList, ...this.#retired]) {
      for (const { delivery, worker } of member.running) {
        member.abandon(worker)
        delivery.held.abort(reason)
        delivery.giveBack(reason)
        member.meter?.settled(true, performance.now() - worker.startedAt)
        this.#leave(delivery.held)
      }
    }
  }

  /** Leases with a handler that started less than `ms` ago and still runs. */
  leasesRunningFor(ms: number): Set<HeldLease> {
    const leases = new Set<HeldLease>()
    for (const member of [...this.#memberList, ...this.#retired]) {
      for (const { delivery, worker } of member.running) {
        if (performance.now() - worker.startedAt < ms) leases.add(delivery.held)
      }
    }
    return leases
  }

  /** Ends all waits for room: the group stops. */
  wakeWaiters(): void {
    for (const { resolve } of this.#roomWaiters.splice(0)) resolve()
  }

  /** Resolves when fewer than `below` messages are unfinished. */
  async room(below: number): Promise<void> {
    if (this.#outstanding < below) return
    await new Promise<void>(resolve => this.#roomWaiters.push({ below, resolve }))
  }

  /**
   * Releases the queued messages of an expiring lease that wait behind a hanging handler. Claimed again at once they
   * would only queue again, so nothing is claimed for half a lease: other processes get their chance.
   */
  giveUpWaiting(held: HeldLease): void {
    if (this.releaseQueued(held) === 0) return
    const ms = held.termMs === 0 ? STUCK_MS : held.termMs / 2
    this.#stuckUntil = Math.max(this.#stuckUntil, performance.now() + ms)
  }

  /** How long to claim nothing, unless a handler finishes before. */
  get holdOffMs(): number {
    return this.#stuckUntil === 0 ? 0 : this.#stuckUntil - performance.now()
  }

  finished(member: Member<T>, delivery: LeasedDelivery<T>, failure: Failure | undefined, ms: number | undefined): void {
    if (this.#stuckUntil > 0) {
      this.#stuckUntil = 0
      this.onMoving?.()
    }
    if (ms !== undefined) this.#time(ms)
    if (failure !== undefined) delivery.fail(failure)
    // Only deliveries that their handler settled are asked for the outcome; asking all would cost too much.
    const isAcked = failure === undefined && delivery.done()
    member.meter?.settled(!isAcked && delivery.failed, ms)
    this.#leave(delivery.held)
  }

  #time(ms: number): void {
    this.#averageMs = this.#averageMs === undefined ? ms : this.#averageMs + (ms - this.#averageMs) * NEWEST
  }

  expired(delivery: LeasedDelivery<T>): void {
    this.leases.delete(delivery.held)
    this.#leave(delivery.held)
  }

  #prepare(held: HeldLease, index: number): void {
    const raw = held.lease.messages[index]
    if (raw === undefined) return
    try {
      const payload = decodePayload(this.#runtime, held.topic.name, raw, this.#decoding)
      if (this.#decoding.schema !== undefined && payload instanceof Promise) {
        this.#acceptLater(payload, { held, index, raw })
      } else {
        this.#accept(new LeasedDelivery(this.#runtime, held, index, raw, payload as T))
      }
    } catch (error) {
      this.#reject(held, index, error)
    }
  }

  /** When its schema has answered, unless it was released meanwhile. */
  #acceptLater(payload: Promise<T>, checked: Checked): void {
    const { held, index, raw } = checked
    this.#checked.add(checked)
    payload.then(
      value => {
        if (!this.#checked.delete(checked)) return
        this.#accept(new LeasedDelivery(this.#runtime, held, index, raw, value))
        this.#pumpAll()
      },
      error => {
        if (this.#checked.delete(checked)) this.#reject(held, index, error)
      },
    )
  }

  /** Filters are user code too: one that throws is a failed attempt. */
  #accept(delivery: LeasedDelivery<T>): void {
    try {
      if (this.#filter !== undefined && !passes(this.#filter, delivery)) this.#skip(delivery)
      else this.#assign(delivery)
    } catch (error) {
      delivery.fail(toFailure(error))
      this.#leave(delivery.held)
    }
  }

  #assign(delivery: LeasedDelivery<T>): void {
    const member = selectMember(this.#memberList, delivery)
    if (member === undefined) this.#skip(delivery)
    else member.enqueue(delivery)
  }

  /** No filter accepts it: it counts as processed. */
  #skip(delivery: LeasedDelivery<T>): void {
    this.#runtime.instrumentation.emit('filtered', { topic: delivery.topic, group: delivery.group, count: 1 })
    this.#runtime.heartbeats.count(delivery.held.subscription.id, { filtered: 1 })
    delivery.done()
    this.#leave(delivery.held)
  }

  #reject(held: HeldLease, index: number, error: unknown): void {
    const raw = held.lease.messages[index]
    if (raw === undefined) return
    new LeasedDelivery(this.#runtime, held, index, raw, undefined).fail(toFailure(error))
    this.#leave(held)
  }

  #leave(held: HeldLease): void {
    if (held.open === 0) this.leases.delete(held)
    this.#outstanding--
    if (this.#roomWaiters.length === 0) return
    const ready = this.#roomWaiters.filter(waiter => this.#outstanding < waiter.below)
    if (ready.length === 0) return
    this.#roomWaiters = this.#roomWaiters.filter(waiter => !ready.includes(waiter))
    for (const { resolve } of ready) resolve()
  }

  #pumpAll(): void {
    for (const member of this.#memberList) member.pump()
  }
}
