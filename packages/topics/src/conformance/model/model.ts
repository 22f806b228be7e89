import type { Suspects } from '../../stores/leases.ts'
import { pieceAt, pieceCount } from '../../stores/pieces.ts'

/**
 * What a store must do, in plain data: one topic, its log and its groups. Messages are identified by their number in
 * the log, leases by the order in which they were given. Time is a flag: a lease has expired or not, a retry is due or
 * not. Retries that became due only with the current claim (`fresh`) come after those that were due before.
 */

type Failure = { readonly attempt: number; readonly name: string }
export type DeadLetter = { readonly n: number; readonly attempts: number; readonly history: readonly Failure[] }

type Retry = {
  attempts: number
  version: number
  due: boolean
  fresh: boolean
  suspects: Suspects
  /** Identifies the messages that share a lease. */
  piece: object | null
  history: readonly Failure[]
  lease: Lease | null
}
type Slot = { readonly n: number; readonly attempts: number; readonly version: number; settled: boolean }

export type Lease = {
  readonly group: Group
  readonly consumer: string
  readonly kind: 'page' | 'retry'
  readonly suspects: Suspects
  readonly slots: readonly Slot[]
  state: 'live' | 'done' | 'expired' | 'forgotten'
  ranOut: boolean
}

export type Group = {
  readonly name: string
  status: 'ACTIVE' | 'PAUSED'
  /** Messages claimed or skipped: the next page begins here. */
  cursor: number
  readonly leases: Lease[]
  readonly retries: Map<number, Retry>
  readonly deadLetters: DeadLetter[]
}

export type Claimed = {
  readonly status: string
  readonly takenOver: number
  readonly deadLettered: number
  readonly waiting: Suspects
  readonly lease: { readonly suspects: Suspects; readonly slots: readonly Omit<Slot, 'settled'>[] } | null
  /** Only if nothing was claimed. */
  readonly next: 'never' | 'now' | 'later' | null
}

export type Settled = { readonly stale: number[]; readonly deadLettered: number[]; readonly finished: boolean }

export type Plan = {
  readonly acks: readonly number[] | 'all'
  readonly nacks: readonly { readonly slot: number; readonly far: boolean }[]
  readonly releases: readonly number[]
}

export type Described = {
  readonly published: number
  readonly groups: readonly {
    readonly group: string
    readonly status: string
    readonly backlog: number
    readonly inFlight: number
    readonly retries: number
    readonly deadLetters: number
  }[]
}

export const NACK_ERROR = 'Refused'
const EXPIRED_ERROR = 'LeaseExpiredError'

export class Model {
  readonly maxAttempts: number
  readonly groups = new Map<string, Group>()
  readonly leases: Lease[] = []
  #published = 0
  readonly #callerIds = new Map<number, number>()

  constructor(maxAttempts: number) {
    this.maxAttempts = maxAttempts
  }

  get published(): number {
    return this.#published
  }

  /** For each message: null, or the number of a messageId that its caller chose. */
  publish(messages: readonly (number | null)[]): { n: number; duplicate: boolean }[] {
    return messages.map(callerId => {
      const known = callerId === null ? undefined : this.#callerIds.get(callerId)
      if (known !== undefined) return { n: known, duplicate: true }
      const n = this.#published++
      if (callerId !== null) this.#callerIds.set(callerId, n)
      return { n, duplicate: false }
    })
  }

  subscribe(name: string, from: 'beginning' | 'now'): { created: boolean; status: string } {
    const existing = this.groups.get(name)
    if (existing) return { created: false, status: existing.status }
    const cursor = from === 'now' ? this.#published : 0
    this.groups.set(name, { name, status: 'ACTIVE', cursor, leases: [], retries: new Map(), deadLetters: [] })
    return { created: true, status: 'ACTIVE' }
  }

  /** ACTIVE ⇄ PAUSED, and nothing else. */
  setStatus(group: Group, status: Group['status']): string {
    if (group.status === status) return 'TIDEMARK_INVALID_TRANSITION'
    group.status = status
    return 'done'
  }

  claim(group: Group, { consumer, limit, suspects, sweep }: ClaimPlan): Claimed {
    const nothing = { status: group.status, takenOver: 0, deadLettered: 0, waiting: 'none', lease: null } as const
    if (group.status !== 'ACTIVE') return { ...nothing, next: 'never' }
    for (const retry of group.retries.values()) retry.fresh = false
    const expired = sweep ? this.#expire(group) : { takenOver: 0, deadLettered: 0 }
    const { picked, kind, waiting } = chooseRetries(group, limit, suspects)
    const lease =
      picked.length > 0 ? this.#claimRetries(group, consumer, picked, kind) : this.#claimPage(group, consumer, limit)
    if (lease === null) return { ...nothing, ...expired, waiting, next: nextDue(group, suspects, sweep) }
    group.leases.push(lease)
    this.leases.push(lease)
    const slots = lease.slots.map(({ n, attempts, version }) => ({ n, attempts, version }))
    return { status: group.status, ...expired, waiting, lease: { suspects: lease.suspects, slots }, next: null }
  }

  settle(lease: Lease, { acks, nacks, releases }: Plan): Settled {
    const all = lease.slots.map((_, slot) => slot)
    const named = [...(acks === 'all' ? all : acks), ...nacks.map(({ slot }) => slot), ...releases]
    if (lease.state === 'done') return { stale: [], deadLettered: [], finished: true }
    if (lease.state !== 'live') {
      const isOpen = (slot: number): boolean => lease.state === 'forgotten' || lease.slots[slot]?.settled === false
      return { stale: all.filter(slot => named.includes(slot) && isOpen(slot)), deadLettered: [], finished: true }
    }
    const deadLettered: number[] = []
    for (const slot of acks === 'all' ? all : acks) {
      const message = take(lease, slot)
      if (message) lease.group.retries.delete(message.n)
    }
    for (const { slot, far } of nacks) {
      const message = take(lease, slot)
      if (message && this.#fail(lease.group, message, NACK_ERROR, { due: !far, suspects: 'none', piece: null }))
        deadLettered.push(slot)
    }
    for (const slot of releases) {
      const message = take(lease, slot)
      if (!message) continue
      // Released untried, it is as suspect as before.
      const { history, suspects, piece } = lease.group.retries.get(message.n) ?? UNSUSPECTED
      const { attempts, version } = message
      const retry = { attempts: attempts - 1, version, due: true, fresh: true, suspects, piece, history, lease: null }
      lease.group.retries.set(message.n, retry)
    }
    const finished = lease.slots.every(slot => slot.settled)
    if (finished) lease.state = 'done'
    return { stale: [], deadLettered, finished }
  }

  extend(lease: Lease): boolean {
    if (lease.state !== 'live') return false
    lease.ranOut = false
    return true
  }

  /** As the sweep does with leases closed long ago. */
  forgetClosed(group: Group): void {
    for (const lease of group.leases) if (lease.state !== 'live') lease.state = 'forgotten'
  }

  describe(): Described {
    const groups = [...this.groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return {
      published: this.#published,
      groups: groups.map(group => ({
        group: group.name,
        status: group.status,
        backlog: this.#published - group.cursor,
        inFlight: openSlots(group).length,
        retries: [...group.retries.values()].filter(retry => retry.lease === null).length,
        deadLetters: group.deadLetters.length,
      })),
    }
  }

  /** What was published for the group and is not settled. */
  needed(group: Group): number[] {
    const ahead = Array.from({ length: this.#published - group.cursor }, (_, index) => group.cursor + index)
    return [...new Set([...group.retries.keys(), ...openSlots(group).map(({ n }) => n), ...ahead])]
  }

  hasFreshRetries(group: Group): boolean {
    return [...group.retries.values()].some(retry => retry.fresh && retry.lease === null)
  }

  #expire(group: Group): { takenOver: number; deadLettered: number } {
    const count = { takenOver: 0, deadLettered: 0 }
    for (const lease of group.leases) {
      if (lease.state !== 'live' || !lease.ranOut) continue
      lease.state = 'expired'
      const open = lease.slots.filter(each => !each.settled)
      const pieces = new Map<string, object>()
      for (const slot of open) {
        const alike = open.filter(({ attempts }) => attempts === slot.attempts)
        const left = this.maxAttempts - slot.attempts
        const number = pieceAt(alike.indexOf(slot), alike.length, pieceCount(alike.length, left))
        const key = `${slot.attempts}/${number}`
        if (left > 1 && !pieces.has(key)) pieces.set(key, {})
        const piece = pieces.get(key) ?? null
        const suspects = piece === null ? 'alone' : 'shared'
        const isDead = this.#fail(group, slot, EXPIRED_ERROR, { due: true, suspects, piece })
        count[isDead ? 'deadLettered' : 'takenOver']++
      }
    }
    return count
  }

  /** True if it was the last attempt. */
  #fail(
    group: Group,
    { n, attempts, version }: Slot,
    name: string,
    retry: Pick<Retry, 'due' | 'suspects' | 'piece'>,
  ): boolean {
    const history = [...(group.retries.get(n)?.history ?? []), { attempt: attempts, name }]
    if (attempts >= this.maxAttempts) {
      group.retries.delete(n)
      group.deadLetters.push({ n, attempts, history })
      return true
    }
    group.retries.set(n, { attempts, version, history, fresh: true, lease: null, ...retry })
    return false
  }

  #claimRetries(group: Group, consumer: string, picked: readonly [number, Retry][], kind: Suspects): Lease {
    for (const [, retry] of picked) {
      retry.attempts++
      retry.version++
    }
    const slots = picked.map(([n, { attempts, version }]) => ({ n, attempts, version, settled: false }))
    const lease = newLease(group, consumer, 'retry', kind, slots)
    for (const [, retry] of picked) retry.lease = lease
    return lease
  }

  #claimPage(group: Group, consumer: string, limit: number): Lease | null {
    const size = Math.min(limit, this.#published - group.cursor)
    if (size === 0) return null
    const slots = Array.from({ length: size }, (_, slot) => ({
      n: group.cursor + slot,
      attempts: 1,
      version: 1,
      settled: false,
    }))
    group.cursor += size
    return newLease(group, consumer, 'page', 'none', slots)
  }
}

export type ClaimPlan = {
  readonly consumer: string
  readonly limit: number
  readonly suspects: Suspects
  readonly sweep: boolean
}

const newLease = (group: Group, consumer: string, kind: Lease['kind'], suspects: Suspects, slots: Slot[]): Lease => ({
  group,
  consumer,
  kind,
  suspects,
  slots,
  state: 'live',
  ranOut: false,
})

/** The slot's message, the first time it is settled. */
function take(lease: Lease, slot: number): Slot | undefined {
  const message = lease.slots[slot]
  if (message === undefined || message.settled) return undefined
  message.settled = true
  return message
}

const UNSUSPECTED = { history: [], suspects: 'none', piece: null } as const

/**
 * Suspects that must be alone, if that is allowed; otherwise all that failed on their own, together; otherwise one
 * piece of an expired lease.
 */
function chooseRetries(
  group: Group,
  limit: number,
  allowed: Suspects,
): { picked: readonly [number, Retry][]; kind: Suspects; waiting: Suspects } {
  const due = [...group.retries]
    .filter(([, retry]) => retry.due && retry.lease === null)
    .sort(([a, one], [b, other]) => Number(one.fresh) - Number(other.fresh) || a - b)
  const of = (kind: Suspects) => due.filter(([, retry]) => retry.suspects === kind)
  const [alone, failed, shared] = [of('alone'), of('none'), of('shared')]
  if (alone.length > 0 && allowed === 'alone') return { picked: alone.slice(0, 1), kind: 'alone', waiting: 'none' }
  const waiting = alone.length > 0 ? 'alone' : shared.length > 0 && allowed === 'none' ? 'shared' : 'none'
  if (failed.length > 0 || allowed === 'none') return { picked: failed.slice(0, limit), kind: 'none', waiting }
  const ofPiece = shared.filter(([, { piece }]) => piece === shared[0]?.[1].piece)
  return { picked: ofPiece.sort(([a], [b]) => a - b).slice(0, limit), kind: 'shared', waiting }
}

function nextDue(group: Group, allowed: Suspects, sweep: boolean): Claimed['next'] {
  const taken: readonly Suspects[] = allowed === 'alone' ? ['none', 'shared', 'alone'] : ['none', allowed]
  const waiting = [...group.retries.values()].filter(retry => retry.lease === null && taken.includes(retry.suspects))
  if (waiting.some(retry => retry.due)) return 'now'
  if (waiting.length > 0) return 'later'
  return sweep && group.leases.some(lease => lease.state === 'live') ? 'later' : 'never'
}

const openSlots = (group: Group): Slot[] =>
  group.leases.filter(lease => lease.state === 'live').flatMap(lease => lease.slots.filter(slot => !slot.settled))
