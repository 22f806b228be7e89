import { timingSafeEqual } from 'node:crypto'
import type { Identity } from './identity.ts'
import { hashOf, isExpired, type Token } from './token.ts'
import type { TokenFile } from './token-file.ts'

/** Checks a token against all there are: those of the options, and those of the file as it is now. */
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

  /** True where there are other tokens now. */
  async refresh(): Promise<boolean> {
    return (await this.#file?.refresh()) ?? false
  }

  named(name: string): Token | undefined {
    return this.#all().find(each => each.name === name && !isExpired(each))
  }

  /**
   * Compares with every token, in a time that says nothing about how much of one was right: hashes have one length, and
   * where they differ can't be chosen.
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

  /** It is still among them, as it was. */
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
