import { createHash, randomBytes } from 'node:crypto'
import { ConfigError } from 'tidemark'
import type { Grant } from './roles.ts'

/** What the server knows about a token. It never has the token itself. */
export type Token = {
  /** Name for people and the audit log. */
  readonly name: string
  /** SHA-256 of the token. Tokens of `makeToken` have 256 random bits, so a slow hash would add nothing. */
  readonly hash: Buffer
  /** Roles of the token. */
  readonly grants: readonly Grant[]
  /** Expiry in milliseconds since 1970, or null. */
  readonly expiresAt: number | null
}

/**
 * Hash of a token, as stored in a token file.
 *
 * @example
 * const hash = hashOf(makeToken())
 */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/**
 * Creates a token. Its prefix lets scanners for leaked secrets find it.
 *
 * @example
 * const token = makeToken()
 */
export const makeToken = (): string => `tdm_${randomBytes(32).toString('base64url')}`

export const isExpired = ({ expiresAt }: Pick<Token, 'expiresAt'>, now = Date.now()): boolean =>
  expiresAt !== null && now >= expiresAt

/** Two equal tokens would give a reader the rights of the other. */
export function refuseTwins(tokens: readonly Token[]): void {
  const isTwice = tokens.some((one, index) =>
    tokens.slice(0, index).some(other => one.name === other.name || one.hash.equals(other.hash)),
  )
  if (isTwice) throw new ConfigError('server.tokens', '(hidden)', 'different tokens with different names')
}
