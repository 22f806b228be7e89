/**
 * Kinds of entries. change: of topics, groups and other state. data: publishing and consuming. refusal: a request
 * without the necessary rights.
 */
export const AUDIT_KINDS = ['change', 'data', 'refusal'] as const
/** Kind of an entry. */
export type AuditKind = (typeof AUDIT_KINDS)[number]

/** Outcomes of a request. unknown: the client disconnected before the response. */
export const OUTCOMES = ['done', 'failed', 'refused', 'unknown'] as const
/** Outcome of a request. */
export type Outcome = (typeof OUTCOMES)[number]

/** One line of the audit log: who did what, from where, and the outcome. It contains no payload and no token. */
export type AuditEntry = {
  /** Id of the entry. */
  readonly id: number
  /** Time of the entry, in ISO 8601. */
  readonly at: string
  /** Kind of the entry. */
  readonly kind: AuditKind
  /** Outcome of the request. */
  readonly outcome: Outcome
  /** Name of the token or of the application's user, or null if unknown. */
  readonly who: string | null
  /** How the caller was authenticated: token, session, host or local. */
  readonly by: string | null
  /** Address of the client. */
  readonly from: string
  /** Operation in the API description, or null. */
  readonly action: string | null
  /** HTTP method, or null. */
  readonly method: string | null
  /** Path of the request, or null. */
  readonly path: string | null
  /** Name of the topic, or null. */
  readonly topic: string | null
  /** HTTP status of the response, or null. */
  readonly status: number | null
  /** Code of the problem, or null. */
  readonly code: string | null
  /** Number of refusals that this entry stands for. */
  readonly count: number
  /** Input of a change. */
  readonly input?: unknown
}

export type NewEntry = Omit<AuditEntry, 'id' | 'at' | 'count'>

/** Selection of entries. */
export type AuditQuery = {
  /** Entries of this kind. */
  readonly kind?: AuditKind
  /** Entries with this outcome. */
  readonly outcome?: Outcome
  /** Entries of this caller. */
  readonly who?: string
  /** Entries of this operation. */
  readonly action?: string
  /** Entries of this topic. */
  readonly topic?: string
  /** Entries from this time on. */
  readonly since?: Date
  /** Entries with a lower id. */
  readonly before?: number
  /** Maximum number of entries. */
  readonly limit: number
}

/**
 * Whether an entry matches a query.
 *
 * @example
 * const refusals = entries.filter(entry => matchesAudit(entry, { kind: 'refusal', limit: 100 }))
 */
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

/** A line of an audit file; undefined if it is invalid, such as a half line after a crash. */
export function parseEntry(line: string): AuditEntry | undefined {
  try {
    const entry = JSON.parse(line) as AuditEntry
    const isEntry = Number.isSafeInteger(entry.id) && typeof entry.at === 'string' && AUDIT_KINDS.includes(entry.kind)
    return isEntry ? entry : undefined
  } catch {
    return undefined
  }
}
