import type { Runtime } from '../../runtime.ts'
import type { Beating } from '../heartbeat-sender.ts'
import type { Subscribed } from '../subscribe.ts'

type Member = {
  readonly key: string
  readonly beating: Beating
  subscribed: Subscribed
  /** false: a pull failed, and the next one subscribes again. */
  isFresh: boolean
  /** Consumers that have pulled. */
  readonly consumers: Set<string>
  /** Pulls that have not returned. */
  pulls: number
  busyUntil: number
  timer: NodeJS.Timeout | undefined
}

/** A pull of a group, until it returns. */
export type Joined = Subscribed & Disposable

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

  async join(
    { topic, label, consumer }: { readonly topic: string; readonly label: string; readonly consumer: string },
    subscribe: () => Promise<Subscribed>,
  ): Promise<Joined> {
    const key = `${topic}/${label}`
    let member = this.#members.get(key)
    if (!member?.isFresh) {
      const joining = this.#joining.get(key) ?? this.#join(key, subscribe)
      this.#joining.set(key, joining)
      member = await joining.finally(() => this.#joining.delete(key))
    }
    this.#count(member, consumer)
    return this.#pulling(member)
  }

  /** Somebody holds its messages for this long; 0: for ever, and then only a pull shows that its clients are alive. */
  busyFor(subscriptionUid: number, ms: number): void {
    for (const member of this.#membersOf(subscriptionUid)) this.#keep(member, ms)
  }

  /** A pull failed: the next one reads the subscription again. Other clients may still wait or hold messages. */
  forget({ subscription }: Subscribed): void {
    for (const member of this.#membersOf(subscription.uid)) member.isFresh = false
  }

  async leaveAll(): Promise<void> {
    await Promise.all([...this.#members.values()].map(member => this.#leave(member)))
  }

  #membersOf(subscriptionUid: number): Member[] {
    return [...this.#members.values()].filter(({ subscribed }) => subscribed.subscription.uid === subscriptionUid)
  }

  async #join(key: string, subscribe: () => Promise<Subscribed>): Promise<Member> {
    const subscribed = await subscribe()
    const known = this.#members.get(key)
    if (known?.subscribed.subscription.uid === subscribed.subscription.uid) {
      known.subscribed = subscribed
      known.isFresh = true
      return known
    }
    if (known !== undefined) void this.#leave(known)
    const { topic, subscription } = subscribed
    const member: Member = {
      key,
      subscribed,
      isFresh: true,
      consumers: new Set(),
      pulls: 0,
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

  /** A pull may wait for longer than a group without heartbeats lives. When it has returned, its client may pull again. */
  #pulling(member: Member): Joined {
    const { topic, subscription } = member.subscribed
    const keep = (): void => this.#keep(member, member.subscribed.subscription.heartbeat.intervalMs)
    member.pulls++
    keep()
    return {
      topic,
      subscription,
      [Symbol.dispose]: () => {
        member.pulls--
        keep()
      },
    }
  }

  /** Counts the consumer's work as long as the group is pulled from. */
  #count({ subscribed: { topic, subscription }, consumers }: Member, consumer: string): void {
    if (consumers.has(consumer)) return
    consumers.add(consumer)
    this.#runtime.instrumentation.metrics.consumer(topic.name, subscription.group, consumer)
  }

  #keep(member: Member, ms: number): void {
    if (this.#members.get(member.key) !== member) return
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
      else if (member.pulls === 0) void this.#leave(member)
    }, left)
    member.timer.unref()
  }

  /** Its counts are sent with its last heartbeat; an unreachable database has already been reported. */
  async #leave(member: Member): Promise<void> {
    clearTimeout(member.timer)
    if (this.#members.get(member.key) === member) this.#members.delete(member.key)
    await this.#runtime.heartbeats.leave(member.beating)
    const { topic, subscription } = member.subscribed
    for (const consumer of member.consumers) {
      this.#runtime.instrumentation.metrics.forgetConsumer(topic.name, subscription.group, consumer)
    }
  }
}
