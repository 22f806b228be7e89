import { createHash, timingSafeEqual } from 'node:crypto'

export type Role = 'read' | 'admin'

/** Who may do what, by the token of the Authorization header. */
export class Tokens {
  readonly #hashes: readonly { readonly role: Role; readonly hash: Buffer }[]

  constructor(tokens: { readonly read?: string; readonly admin?: string }) {
    this.#hashes = (['read', 'admin'] as const).flatMap(role => {
      const token = tokens[role]
      return token === undefined ? [] : [{ role, hash: hashOf(token) }]
    })
  }

  /** Without tokens only this machine can reach the server, and everybody on it may do everything. */
  get areNeeded(): boolean {
    return this.#hashes.length > 0
  }

  /**
   * Compares with every token, in a time that says nothing about how much of one was right: hashes have one length, and
   * where they differ can't be chosen.
   */
  roleOf(authorization: string | undefined): Role | undefined {
    if (!this.areNeeded) return 'admin'
    const [, given] = /^Bearer +([^ ]+) *$/i.exec(authorization ?? '') ?? []
    const hash = hashOf(given ?? '')
    let found: Role | undefined
    for (const { role, hash: expected } of this.#hashes) if (timingSafeEqual(hash, expected)) found = role
    return given === undefined ? undefined : found
  }
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()
