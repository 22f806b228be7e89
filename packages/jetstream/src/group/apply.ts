import type { Draft } from './change.ts'
import { type Claimed, type ClaimOp, claim } from './claim.ts'
import {
  type BeatOp,
  beat,
  type GoOnOp,
  goOn,
  type MissOp,
  miss,
  type ResurrectOp,
  resurrect,
  type StatusOp,
  setStatus,
} from './life.ts'
import {
  type AcknowledgeOp,
  type AdvanceOp,
  acknowledgeLoss,
  forceAdvance,
  type LoseOp,
  lose,
  type PurgedOp,
  purged,
  type ResetOp,
  reset,
} from './position.ts'
import { type DiscardOp, discard, type RedriveOp, redrive } from './redrive.ts'
import { type ExtendOp, extend, type ReleaseOp, release, type SettleOp, settle } from './settle.ts'

/** The process hands the group over to whoever comes next. */
type LeaveOp = { readonly kind: 'leave' }

export type Op =
  | ClaimOp
  | SettleOp
  | ExtendOp
  | ReleaseOp
  | StatusOp
  | GoOnOp
  | ResurrectOp
  | BeatOp
  | MissOp
  | ResetOp
  | AdvanceOp
  | LoseOp
  | PurgedOp
  | AcknowledgeOp
  | RedriveOp
  | DiscardOp
  | LeaveOp

/** Result of each kind of change. */
export type Results = {
  claim: Claimed
  settle: ReturnType<typeof settle>
  extend: boolean
  release: ReturnType<typeof release>
  status: ReturnType<typeof setStatus>
  goOn: ReturnType<typeof goOn>
  resurrect: ReturnType<typeof resurrect>
  beat: ReturnType<typeof beat>
  miss: ReturnType<typeof miss>
  reset: ReturnType<typeof reset>
  advance: number
  lose: ReturnType<typeof lose>
  purged: null
  acknowledge: ReturnType<typeof acknowledgeLoss>
  redrive: ReturnType<typeof redrive>
  discard: ReturnType<typeof discard>
  leave: null
}

/** Applies one change to the draft. Each can be applied again if it is unknown whether it was stored. */
export function apply(draft: Draft, op: Op): Results[Op['kind']] {
  switch (op.kind) {
    case 'claim':
      return claim(draft, op)
    case 'settle':
      return settle(draft, op)
    case 'extend':
      return extend(draft, op)
    case 'release':
      return release(draft, op)
    case 'status':
      return setStatus(draft, op)
    case 'goOn':
      return goOn(draft, op)
    case 'resurrect':
      return resurrect(draft, op)
    case 'beat':
      return beat(draft, op)
    case 'miss':
      return miss(draft, op)
    case 'reset':
      return reset(draft, op)
    case 'advance':
      return forceAdvance(draft)
    case 'lose':
      return lose(draft, op)
    case 'purged':
      return purged(draft, op)
    case 'acknowledge':
      return acknowledgeLoss(draft)
    case 'redrive':
      return redrive(draft, op)
    case 'discard':
      return discard(draft, op)
    case 'leave':
      draft.isChanged = true
      return null
  }
}

/** Messages that a change may dead-letter: one commit has room for a limited number. */
export const lettersOf = (op: Op): number => {
  if (op.kind === 'settle') return op.settlement.nacks.length
  return op.kind === 'redrive' || op.kind === 'discard' ? op.letters.length : 0
}
