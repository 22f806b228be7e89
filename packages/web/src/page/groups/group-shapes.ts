import type { Backfill, Status } from '../shapes.ts'

/** API responses about one group, as far as the page reads them. */

export type GroupNow = {
  readonly status: Status
  readonly epoch: number
  readonly misses: number
  readonly lagMessages: number
  readonly inFlight: number
  readonly retries: number
  readonly deadLetters: number
  readonly processed: number
  readonly failed: number
  readonly filtered: number
  readonly lost: number
  readonly unacknowledgedLoss: number
  readonly lastHeartbeatAt: string
  readonly heartbeatTimeoutMs: number
  readonly createdAt: string
  readonly backfill: Backfill | null
  readonly lastError: { readonly name: string; readonly message: string } | null
}

export type Consumer = {
  readonly consumer: string
  readonly instance: string
  readonly processed: number
  readonly failed: number
  readonly handler: { readonly p50: number; readonly p95: number }
  readonly lastActiveAt: string | null
}

export type Member = {
  readonly consumer: string
  readonly host: string | null
  readonly pid: number | null
  readonly since: string | null
  /** null: consumers with the same names run elsewhere, too. */
  readonly inFlight: number | null
  readonly until: string | null
}

export type Claim = {
  readonly id: string
  readonly consumer: string
  readonly claimedAt: string
  readonly expiresAt: string | null
  readonly unsettled: number
  readonly firstId: number | null
  readonly lastId: number | null
  readonly messages: readonly { readonly attempt: number }[]
}

type Failure = { readonly name: string; readonly message: string }

export type Retry = {
  readonly id: number
  readonly key: string | null
  readonly attempts: number
  readonly dueAt: string
  readonly suspect: boolean
  readonly error: Failure | null
}
