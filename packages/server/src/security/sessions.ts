import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Identity } from './identity.ts'
import type { Token } from './token.ts'
import type { TokenCheck } from './token-check.ts'

const SESSION_MS = 12 * 3_600_000
/** Renewed when less than this is left. */
const RENEW_MS = SESSION_MS / 2
const MOST_ENDED = 10_000

export type Session = {
  readonly identity: Identity
  readonly nonce: string
  readonly expiresAt: number
  readonly token: Token
}

type Fields = { readonly name: string; readonly expiresAt: number; readonly nonce: string }

/**
 * Logins of browsers. The cookie contains the name, the expiry and a nonce, signed with an HMAC whose key is derived
 * from the namespace's secret and the token's hash. So the server stores nothing, a restart logs nobody out, another
 * token with the same name does, and reading the token file is not enough to forge a token or a session.
 */
export class Sessions {
  readonly #tokens: TokenCheck
  readonly #secret: () => Promise<Uint8Array>
  /** Sessions logged out here before they expired. */
  readonly #ended = new Map<string, number>()

  constructor(tokens: TokenCheck, secret: () => Promise<Uint8Array>) {
    this.#tokens = tokens
    this.#secret = secret
  }

  /** A new login always gets a new nonce, so a cookie planted in the browser before is useless to the attacker. */
  async begin(token: Token): Promise<{ readonly session: Session; readonly value: string }> {
    const nonce = randomBytes(18).toString('base64url')
    return await this.#make(token, nonce)
  }

  /** The same session with a later expiry, if renewal is due; otherwise undefined. */
  async renewed({ token, nonce, expiresAt }: Session): Promise<{ session: Session; value: string } | undefined> {
    const isDue = expiresAt - Date.now() < RENEW_MS && (token.expiresAt ?? Number.POSITIVE_INFINITY) > expiresAt
    return isDue ? await this.#make(token, nonce) : undefined
  }

  async read(value: string): Promise<Session | undefined> {
    const [body = '', seal = '', ...rest] = value.split('.', 3)
    const fields = rest.length === 0 && value.length < 1_000 ? fieldsOf(body) : undefined
    const token = fields && this.#tokens.named(fields.name)
    if (token === undefined || fields === undefined) return undefined
    const key = await this.#keyOf(token)
    const expected = Buffer.from(sealOf(key, body))
    const given = Buffer.from(seal)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    const session = this.#session(token, fields, key)
    return session.identity.isValid() ? session : undefined
  }

  /**
   * Remembered as long as any of its cookies may live: a copy may have been renewed, and expire later than the given
   * one.
   */
  end({ nonce }: Session): void {
    const now = Date.now()
    for (const [each, until] of this.#ended) if (until < now || this.#ended.size >= MOST_ENDED) this.#ended.delete(each)
    this.#ended.set(nonce, now + SESSION_MS)
  }

  async #make(token: Token, nonce: string): Promise<{ session: Session; value: string }> {
    const expiresAt = Math.min(Date.now() + SESSION_MS, token.expiresAt ?? Number.POSITIVE_INFINITY)
    const fields = { name: token.name, expiresAt, nonce }
    const key = await this.#keyOf(token)
    const body = Buffer.from(JSON.stringify([token.name, expiresAt, nonce])).toString('base64url')
    return { session: this.#session(token, fields, key), value: `${body}.${sealOf(key, body)}` }
  }

  #session(token: Token, { nonce, expiresAt }: Fields, key: Buffer): Session {
    const isValid = (): boolean => Date.now() < expiresAt && !this.#ended.has(nonce) && this.#tokens.isCurrent(token)
    const csrf = createHmac('sha256', key).update(`csrf ${nonce}`).digest('base64url')
    const identity: Identity = { name: token.name, by: 'session', grants: token.grants, expiresAt, csrf, isValid }
    return { identity, nonce, expiresAt, token }
  }

  async #keyOf({ hash }: Token): Promise<Buffer> {
    return createHmac('sha256', await this.#secret())
      .update(hash)
      .digest()
  }
}

const sealOf = (key: Buffer, body: string): string =>
  createHmac('sha256', key).update(`session ${body}`).digest('base64url')

function fieldsOf(body: string): Fields | undefined {
  try {
    const [name, expiresAt, nonce] = JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown[]
    if (typeof name !== 'string' || typeof expiresAt !== 'number' || typeof nonce !== 'string') return undefined
    return { name, expiresAt, nonce }
  } catch {
    return undefined
  }
}
