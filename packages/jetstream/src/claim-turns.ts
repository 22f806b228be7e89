import type { Op, Results } from './group/apply.ts'
import type { ClaimOp } from './group/claim.ts'

/** Others compete if one of them has claimed this lately. */
const COMPETE_MS = 5_000

/** Which of the consumers that compete for a group comes first. */
export class ClaimTurns {
  /** When each consumer of each process last claimed here. */
  readonly #claimedAt = new Map<string, number>()
  /** Number of the last claim that each consumer of each process was served. */
  readonly #served = new Map<string, number>()

  /** Whether the claim had better wait for those of others, who were woken by the same message. */
  note(op: Op): boolean {
    if (op.kind !== 'claim') return false
    const now = performance.now()
    this.#claimedAt.set(claimerOf(op), now)
    for (const [claimer, at] of this.#claimedAt) if (now - at > COMPETE_MS) this.#claimedAt.delete(claimer)
    return this.#claimedAt.size > 1
  }

  /** The consumer that was served last comes last. */
  inTurn<T extends { readonly op: Op }>(batch: readonly T[]): T[] {
    const turnOf = ({ op }: T): number => (op.kind === 'claim' ? (this.#served.get(claimerOf(op)) ?? 0) : -1)
    return batch.toSorted((a, b) => turnOf(a) - turnOf(b))
  }

  noteServed(op: Op, result: unknown): void {
    if (op.kind !== 'claim' || (result as Results['claim']).lease === null) return
    this.#served.set(claimerOf(op), Math.max(0, ...this.#served.values()) + 1)
  }
}

const claimerOf = ({ process, consumer }: ClaimOp): string => `${process}/${consumer}`
