/** The public names of `@tidemark/server`, listed by hand. */

export { searchAudit } from './audit/audit-file.ts'
export {
  AUDIT_KINDS,
  type AuditEntry,
  type AuditKind,
  type AuditQuery,
  matches as matchesAudit,
  OUTCOMES,
  type Outcome,
} from './audit/entry.ts'
export { AddressInUseError } from './errors.ts'
export type { GivenLimits, Limits } from './limits.ts'
export type { IngestTarget, ServerOptions } from './options.ts'
export type { Problem } from './problems/problem.ts'
export type { Authenticate, Authenticated, AuthenticateRequest } from './security/authenticator.ts'
export { type Grant, type GrantGiven, parseGrants, ROLES, type Role } from './security/roles.ts'
export type { TlsFiles } from './security/tls.ts'
export { hashOf, makeToken, type Token } from './security/token.ts'
export { parseTokenLines, tokenLine } from './security/token-lines.ts'
export { isStrong } from './security/token-strength.ts'
export { type RunningServer, startServer } from './start-server.ts'
