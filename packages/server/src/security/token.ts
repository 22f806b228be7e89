import { createHash, randomBytes } from 'node:crypto'
import { ConfigError } from 'tidemark'
import type { Grant } from './roles.ts'

/** What the server knows of a token: never the token itself. */
export type Token = {
  /** For people: the log of changes names it. */
  readonly name: string
  /** SHA-256. Tokens that this program makes have 256 random bits, so that a slow hash would add nothing. */
  readonly hash: Buffer
  readonly grants: readonly Grant[]
  readonly expiresAt: number | null
}

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The prefix lets scanners for leaked secrets find it. */
export const makeToken = (): string => `tdm_${randomBytes(32).toString('base64url')}`

export const isExpired = ({ expiresAt }: Pick<Token, 'expiresAt'>, now = Date.now()): boolean =>
  expiresAt !== null && now >= expiresAt

/** Who may read must not be able to change because two tokens are one. */
export function refuseTwins(tokens: readonly Token[]): void {
  const isTwice = tokens.some((one, index) =>
    tokens.slice(0, index).some(other => one.name === other.name || one.hash.equals(other.hash)),
  )
  if (isTwice) throw new ConfigError('server.tokens', '(hidden)', 'different tokens with different names')
}
