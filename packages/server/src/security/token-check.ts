import { timingSafeEqual } from 'node:crypto'
import type { Identity } from './identity.ts'
import { hashOf, isExpired, type Token } from './token.ts'
import type { TokenFile } from './token-file.ts'

/** Checks a token against all tokens: those of the options, and those currently in the file. */
export class TokenCheck {
  readonly #fixed: readonly Token[]
  readonly #file: TokenFile | undefined

  constructor(fixed: readonly Token[], file: TokenFile | undefined) {
    this.#fixed = fixed
    this.#file = file
  }

  /** Without tokens only this machine can reach the server, and everybody on it may do everything. */
  get areNeeded(): boolean {
    return this.#fixed.length > 0 || this.#file !== undefined
  }

  /** True if the tokens have changed. */
  async refresh(): Promise<boolean> {
    return (await this.#file?.refresh()) ?? false
  }

  named(name: string): Token | undefined {
    return this.#all().find(each => each.name === name && !isExpired(each))
  }

  /**
   * Compares with every token, in a time that does not reveal how much of one was right: hashes have the same length,
   * and an attacker can't choose where they differ.
   */
  find(given: string): Token | undefined {
    const hash = hashOf(given)
    let found: Token | undefined
    for (const token of this.#all()) if (timingSafeEqual(hash, token.hash) && !isExpired(token)) found = token
    return found
  }

  identityOf(token: Token): Identity {
    return {
      name: token.name,
      by: 'token',
      grants: token.grants,
      expiresAt: token.expiresAt,
      isValid: () => this.isCurrent(token),
    }
  }

  /** Whether it is still among them, unchanged. */
  isCurrent({ name, hash, grants }: Token): boolean {
    const now = this.named(name)
    return now?.hash.equals(hash) === true && JSON.stringify(now.grants) === JSON.stringify(grants)
  }

  #all(): readonly Token[] {
    return this.#file === undefined ? this.#fixed : [...this.#fixed, ...this.#file.tokens]
  }
}

/** The token of an Authorization header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  const [, given] = /^Bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? []
  return given
}
