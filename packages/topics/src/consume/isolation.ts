import type { Suspects } from '../stores/leases.ts'
import type { HeldLease } from './held-lease.ts'

/** A lease held for longer than this is not waited for: a hanging handler must not block the others. */
const PATIENCE_MS = 10_000
/** After this long, suspects that are handled alone give way to everything else for one claim. */
const TURN_MS = 1_000

/** The parts of a claimer that this file needs. */
export type Claimant = {
  readonly subscription: { readonly id: number }
  /** Its messages have one attempt: it claims nothing while its group holds anything. */
  readonly isSingleAttempt?: boolean
  wake(): void
}

/** A claim in flight, and then the lease that it returned. */
export type Holding = {
  readonly by: Claimant
  readonly since: number
  /** What the claim may return, then what it has returned. */
  suspects: Suspects
  held: HeldLease | undefined
}

/** Lasts from the first suspect of a group on its last attempt until there is none left. */
type Turn = { since: number | undefined; isResting: boolean }

/**
 * Tracks what the groups of this process hold, to decide which suspects a claim may return.
 *
 * When a process dies, everything it held has used an attempt. So that no innocent message runs out of attempts, its
 * last attempt is made while nothing is held that is known to be dangerous:
 *
 * - A suspect on its last attempt is claimed when the process holds nothing else of its group, and no suspects of any
 *   other group. Until it is settled, nothing more of its group is claimed, and no suspects of any group.
 * - With a single attempt per message, the first is the last: a group claims what its members can handle at once, and
 *   nothing more before that is settled.
 * - Of other suspects a consumer holds one piece beside its ordinary pages: a crash splits no more than that.
 */
export class Isolation {
  readonly #now: () => number
  readonly #held = new Map<number, Set<Holding>>()
  readonly #byToken = new Map<string, Holding>()
  readonly #turns = new Map<number, Turn>()
  /** Claimants waiting until something is settled. */
  readonly #waiting = new Set<Claimant>()
  /** Claimants that were not allowed to take due suspects. */
  readonly #denied = new Set<Claimant>()

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Begins a claim, or returns how long to wait as a number. The claimant is woken if it is worth asking sooner. */
  begin(claimant: Claimant): Holding | number {
    const { id } = claimant.subscription
    const now = this.#now()
    this.#waiting.delete(claimant)
    this.#denied.delete(claimant)
    const own = this.#ownOf(id, now)
    const wait = Math.max(
      this.#turns.size === 0 ? 0 : this.#waitFor(id, now),
      claimant.isSingleAttempt === true ? waitForAll(own, now) : 0,
    )
    if (wait > 0) {
      this.#waiting.add(claimant)
      return wait
    }
    const holding = { by: claimant, since: now, suspects: this.#allowed(claimant, own, now), held: undefined }
    own.add(holding)
    return holding
  }

  /** The claim has ended; `waiting`: suspects that it was not allowed to return. True: ask again at once. */
  end(claimant: Claimant, holding: Holding, held: HeldLease | null, waiting: Suspects): boolean {
    const { id } = claimant.subscription
    const asked = holding.suspects
    holding.suspects = held?.lease.suspects ?? 'none'
    holding.held = held ?? undefined
    if (held === null) this.#held.get(id)?.delete(holding)
    else this.#byToken.set(held.lease.token, holding)
    const turn = this.#turns.get(id)
    if (turn !== undefined) turn.isResting = false
    if (asked === 'alone' && holding.suspects !== 'alone') this.#turns.delete(id)
    if (waiting === 'alone' && turn === undefined) this.#turns.set(id, { since: undefined, isResting: false })
    if (held === null && waiting === 'shared') this.#denied.add(claimant)
    this.#wake(asked !== holding.suspects)
    return held === null && waiting === 'alone'
  }

  /** The claim failed. */
  cancel(holding: Holding): void {
    this.#held.get(holding.by.subscription.id)?.delete(holding)
    this.#wake(holding.suspects !== 'none')
  }

  /** The lease is settled, or no longer held by this process. */
  settled(token: string): void {
    const holding = this.#byToken.get(token)
    if (holding === undefined) return
    this.#byToken.delete(token)
    this.cancel(holding)
  }

  /** It stops claiming for now. */
  leave(claimant: Claimant): void {
    if (this.#waiting.delete(claimant)) this.#wake(true)
    this.#denied.delete(claimant)
  }

  #ownOf(id: number, now: number): Set<Holding> {
    const own = this.#held.get(id) ?? new Set()
    this.#held.set(id, own)
    for (const holding of own) if (isGone(holding, now)) this.#drop(own, holding)
    return own
  }

  #drop(own: Set<Holding>, holding: Holding): void {
    own.delete(holding)
    if (holding.held) this.#byToken.delete(holding.held.lease.token)
  }

  /** How long to wait until nothing is held that conflicts with what this claim may return. */
  #waitFor(id: number, now: number): number {
    const turn = this.#turns.get(id)
    const isAlonesTurn = turn !== undefined && !isOver(turn, now)
    let longest = 0
    for (const own of this.#held.values()) {
      for (const holding of own) {
        if (isGone(holding, now)) this.#drop(own, holding)
        else if (isAlonesTurn ? isBesideAlone(holding, id) : isAloneOf(holding, id)) {
          longest = Math.max(longest, holding.since + PATIENCE_MS - now)
        }
      }
    }
    return longest
  }

  #allowed(claimant: Claimant, own: Set<Holding>, now: number): Suspects {
    const turn = this.#turns.get(claimant.subscription.id)
    if (turn !== undefined) {
      turn.isResting = isOver(turn, now)
      turn.since = turn.isResting ? undefined : (turn.since ?? now)
      // Lets the others take their suspects.
      if (turn.isResting) this.#wake(true)
      return turn.isResting ? 'none' : 'alone'
    }
    for (const { by, suspects } of own) if (by === claimant && suspects === 'shared') return 'none'
    return this.#turns.size > 0 && this.#isAloneAnywhere() ? 'none' : 'shared'
  }

  /** Whether a suspect of some group is held alone, or waits to be. */
  #isAloneAnywhere(): boolean {
    for (const { subscription } of this.#waiting) if (this.#turns.get(subscription.id)?.isResting === false) return true
    for (const own of this.#held.values()) for (const { suspects } of own) if (suspects === 'alone') return true
    return false
  }

  #wake(withDenied: boolean): void {
    for (const claimant of this.#waiting) claimant.wake()
    if (withDenied) for (const claimant of this.#denied) claimant.wake()
  }
}

/** Until the group holds nothing, or has held it for too long. */
const waitForAll = (own: ReadonlySet<Holding>, now: number): number =>
  Math.max(0, ...[...own].map(({ since }) => since + PATIENCE_MS - now))

const isOver = ({ since }: Turn, now: number): boolean => since !== undefined && now - since > TURN_MS

/** No longer held, or held for too long. */
const isGone = ({ since, held }: Holding, now: number): boolean =>
  since + PATIENCE_MS <= now || held?.isExpiredAt(now) === true

const isAloneOf = ({ by, suspects }: Holding, id: number): boolean => by.subscription.id === id && suspects === 'alone'

const isBesideAlone = ({ by, suspects }: Holding, id: number): boolean =>
  by.subscription.id === id || suspects !== 'none'
