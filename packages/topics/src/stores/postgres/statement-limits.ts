/** A statement of publish, claim or settle takes milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000
/** Maintenance and operator steps may read or rewrite a large part of a log. */
export const MAINTENANCE_TIMEOUT_MS = 600_000
/** Migrations and repairs rewrite everything in one transaction. */
export const REWRITE_TIMEOUT_MS = 86_400_000

/** The server times out first, so that a lock held too long is reported as such, and as rolled back. */
const SERVER_SHARE = 0.9

/** PostgreSQL's maximum is an int. */
export const serverLimit = (limitMs: number): number => Math.min(0x7fff_ffff, Math.ceil(limitMs * SERVER_SHARE))
