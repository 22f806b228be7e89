/** A statement of publish, claim or settle takes milliseconds. */
export const STATEMENT_TIMEOUT_MS = 30_000
/** Steps of maintenance and of operators may read or rewrite a good part of a log. */
export const MAINTENANCE_TIMEOUT_MS = 600_000
/** Migrations and repairs rewrite everything there is, in one transaction. */
export const REWRITE_TIMEOUT_MS = 86_400_000

/** The server gives up first, so that a lock that is held too long is told as such, and as undone. */
const SERVER_SHARE = 0.9

/** PostgreSQL takes no more than an int. */
export const serverLimit = (limitMs: number): number => Math.min(0x7fff_ffff, Math.ceil(limitMs * SERVER_SHARE))
