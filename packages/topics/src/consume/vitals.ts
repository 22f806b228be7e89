import { describeFailure } from '../errors/failure.ts'
import type { FailureRecord } from '../stores/failure-record.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'

/** What a group of this process was last able to do, whatever the status of its subscription. */
export type GroupVitals = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Time of the last successful claim, with or without messages. */
  readonly lastClaimAt: Date | null
  /** Time since which claims fail; null if the last one succeeded. */
  readonly failingSince: Date | null
  /** Error of the last failed claim, or null. */
  readonly lastError: FailureRecord | null
}

type Vital = {
  readonly topic: string
  readonly group: string
  users: number
  lastClaimAt: Date | null
  failingSince: Date | null
  lastError: FailureRecord | null
  /** Claims waiting for an answer, each by the time it was sent. */
  readonly waiting: Set<Date>
}

/** A claim without an answer for this long counts as failing. */
const SILENT_MS = 4_000

/** The claims of all groups and readers of one Tidemark, by subscription. Recording is O(1). */
export class Vitals {
  readonly #vitals = new Map<number, Vital>()
  readonly #byName = new Map<string, Vital>()

  /** Tracks the group while somebody claims for it; the returned function ends it. */
  join(topic: string, { id, group }: SubscriptionRecord): () => void {
    const vital = this.#vitals.get(id) ?? newVital(topic, group)
    const name = nameOf(topic, group)
    this.#vitals.set(id, vital)
    this.#byName.set(name, vital)
    vital.users++
    return () => {
      if (--vital.users > 0) return
      this.#vitals.delete(id)
      if (this.#byName.get(name) === vital) this.#byName.delete(name)
    }
  }

  /** A claim is sent; call one of the answers when it is over. */
  claiming(subscriptionId: number): { answered(): void; failed(thrown: unknown): void } {
    const vital = this.#vitals.get(subscriptionId)
    if (vital === undefined) return { answered: () => undefined, failed: () => undefined }
    const sentAt = new Date()
    vital.waiting.add(sentAt)
    return {
      answered: () => {
        vital.waiting.delete(sentAt)
        vital.lastClaimAt = new Date()
        vital.failingSince = null
        vital.lastError = null
      },
      failed: thrown => {
        vital.waiting.delete(sentAt)
        this.#fail(vital, sentAt, thrown)
      },
    }
  }

  /** It claims nothing for this reason. */
  held(subscriptionId: number, reason: Error): void {
    const vital = this.#vitals.get(subscriptionId)
    if (vital !== undefined) this.#fail(vital, new Date(), reason)
  }

  /** Groups that cannot claim now. */
  failing(): GroupVitals[] {
    return [...this.all().values()].filter(({ failingSince }) => failingSince !== null)
  }

  /** undefined if nobody claims for the group. */
  of(topic: string, group: string): GroupVitals | undefined {
    const vital = this.#byName.get(nameOf(topic, group))
    return vital && shown(vital)
  }

  /** By subscription. */
  all(): ReadonlyMap<number, GroupVitals> {
    return new Map([...this.#vitals].map(([id, vital]) => [id, shown(vital)]))
  }

  #fail(vital: Vital, since: Date, thrown: unknown): void {
    vital.failingSince ??= since
    vital.lastError = describeFailure(thrown)
  }
}

const nameOf = (topic: string, group: string): string => `${topic}/${group}`

const newVital = (topic: string, group: string): Vital => ({
  topic,
  group,
  users: 0,
  lastClaimAt: null,
  failingSince: null,
  lastError: null,
  waiting: new Set(),
})

function shown({ topic, group, lastClaimAt, failingSince, lastError, waiting }: Vital): GroupVitals {
  const oldest = [...waiting].reduce<Date | null>((a, b) => (a === null || b < a ? b : a), null)
  const isSilent = oldest !== null && Date.now() - oldest.getTime() > SILENT_MS
  if (failingSince !== null || !isSilent) return { topic, group, lastClaimAt, failingSince, lastError }
  const error = { name: 'SilenceError', message: `A claim of ${oldest.toISOString()} is not answered` }
  return { topic, group, lastClaimAt, failingSince: oldest, lastError: error }
}
