/** change: of what is served. data: publishing and consuming. refusal: somebody was not let in, or not allowed. */
export const AUDIT_KINDS = ['change', 'data', 'refusal'] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

/** unknown: the client disconnected before the response. */
export const OUTCOMES = ['done', 'failed', 'refused', 'unknown'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** One line of the audit: who did what, from where, and how it ended. Never a payload or a token. */
export type AuditEntry = {
  readonly id: number
  readonly at: string
  readonly kind: AuditKind
  readonly outcome: Outcome
  /** The name of a token or of the host's user; null where nobody was recognised. */
  readonly who: string | null
  /** token, session, host or local. */
  readonly by: string | null
  readonly from: string
  /** The operation, as in the API description; null where there is none. */
  readonly action: string | null
  readonly method: string | null
  readonly path: string | null
  readonly topic: string | null
  readonly status: number | null
  /** Of the problem, where there was one. */
  readonly code: string | null
  /** How many such refusals this line stands for. */
  readonly count: number
  /** What was asked for, where it is a change. */
  readonly input?: unknown
}

export type NewEntry = Omit<AuditEntry, 'id' | 'at' | 'count'>

export type AuditQuery = {
  readonly kind?: AuditKind
  readonly outcome?: Outcome
  readonly who?: string
  readonly action?: string
  readonly topic?: string
  readonly since?: Date
  /** Entries with a lower id. */
  readonly before?: number
  readonly limit: number
}

export function matches(entry: AuditEntry, { kind, outcome, who, action, topic, since, before }: AuditQuery): boolean {
  return (
    (kind === undefined || entry.kind === kind) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (who === undefined || entry.who === who) &&
    (action === undefined || entry.action === action) &&
    (topic === undefined || entry.topic === topic) &&
    (since === undefined || entry.at >= since.toISOString()) &&
    (before === undefined || entry.id < before)
  )
}

/** A line of an audit file; undefined where it is none, such as the half line of a crash. */
export function parseEntry(line: string): AuditEntry | undefined {
  try {
    const entry = JSON.parse(line) as AuditEntry
    const isEntry = Number.isSafeInteger(entry.id) && typeof entry.at === 'string' && AUDIT_KINDS.includes(entry.kind)
    return isEntry ? entry : undefined
  } catch {
    return undefined
  }
}
