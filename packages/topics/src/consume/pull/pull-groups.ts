import type { Runtime } from '../../runtime.ts'
import type { Beating } from '../heartbeat-sender.ts'
import type { Subscribed } from '../subscribe.ts'

type Member = Subscribed & {
  readonly key: string
  readonly beating: Beating
  /** Consumers that have pulled. */
  readonly consumers: Set<string>
  busyUntil: number
  timer: NodeJS.Timeout | undefined
}

const LONGEST_TIMER_MS = 0x7fff_ffff

/**
 * The groups that are pulled from through this process. Their heartbeats continue while somebody pulls or holds
 * messages, and end after that: a group whose clients are gone must be found dead like any other.
 */
export class PullGroups {
  readonly #runtime: Runtime
  readonly #members = new Map<string, Member>()
  readonly #joining = new Map<string, Promise<Member>>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  async join(topic: string, label: string, subscribe: () => Promise<Subscribed>): Promise<Subscribed> {
    const key = `${topic}/${label}`
    let member = this.#members.get(key)
    if (member === undefined) {
      const joining = this.#joining.get(key) ?? this.#join(key, subscribe)
      this.#joining.set(key, joining)
      member = await joining.finally(() => this.#joining.delete(key))
    }
    this.#keep(member, member.subscription.heartbeat.intervalMs)
    return member
  }

  /** Counts the consumer's work as long as the group is pulled from. */
  count({ topic, subscription }: Subscribed, consumer: string): void {
    const member = [...this.#members.values()].find(each => each.subscription.id === subscription.id)
    if (member === undefined || member.consumers.has(consumer)) return
    member.consumers.add(consumer)
    this.#runtime.instrumentation.metrics.consumer(topic.name, subscription.group, consumer)
  }

  /** Somebody holds its messages for this long; 0: for ever, and then only a pull shows that its clients are alive. */
  busyFor(subscriptionUid: number, ms: number): void {
    for (const member of this.#members.values()) {
      if (member.subscription.uid === subscriptionUid) this.#keep(member, ms)
    }
  }

  /** A pull failed: the next one reads the subscription again. */
  forget({ subscription }: Subscribed): void {
    for (const member of this.#members.values())
      if (member.subscription.uid === subscription.uid) void this.#leave(member)
  }

  async leaveAll(): Promise<void> {
    await Promise.all([...this.#members.values()].map(member => this.#leave(member)))
  }

  async #join(key: string, subscribe: () => Promise<Subscribed>): Promise<Member> {
    const { topic, subscription } = await subscribe()
    const member: Member = {
      key,
      topic,
      subscription,
      consumers: new Set(),
      busyUntil: 0,
      timer: undefined,
      beating: {
        topic,
        subscription,
        resurrected: () => {
          this.#runtime.wakeHub.wake(topic.id)
          // Reports its own failures.
          void this.#runtime.backfills.start(topic, subscription)
        },
        ended: () => void this.#leave(member),
      },
    }
    this.#members.set(key, member)
    this.#runtime.heartbeats.join(member.beating)
    return member
  }

  #keep(member: Member, ms: number): void {
    const until = performance.now() + ms
    if (until <= member.busyUntil) return
    member.busyUntil = until
    if (member.timer === undefined) this.#watch(member)
  }

  #watch(member: Member): void {
    const left = Math.min(LONGEST_TIMER_MS, Math.max(0, member.busyUntil - performance.now()))
    member.timer = setTimeout(() => {
      member.timer = undefined
      if (member.busyUntil > performance.now()) this.#watch(member)
      else void this.#leave(member)
    }, left)
    member.timer.unref()
  }

  /** Its counts are sent with its last heartbeat; an unreachable database has already been reported. */
  async #leave(member: Member): Promise<void> {
    clearTimeout(member.timer)
    if (this.#members.get(member.key) === member) this.#members.delete(member.key)
    await this.#runtime.heartbeats.leave(member.beating)
    const { metrics } = this.#runtime.instrumentation
    for (const consumer of member.consumers) {
      metrics.forgetConsumer(member.topic.name, member.subscription.group, consumer)
    }
  }
}
