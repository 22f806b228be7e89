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
 * Logins of browsers. The cookie says who, until when, and a nonce, under an HMAC whose key is made of the namespace's secret and of
 * the token's hash: the server keeps nothing, a restart logs nobody out, another token of that name does, and who has read
 * the token file can make neither a token nor a session of it.
 */
export class Sessions {
  readonly #tokens: TokenCheck
  readonly #secret: () => Promise<Uint8Array>
  /** Logged out here before they expired. */
  readonly #ended = new Map<string, number>()

  constructor(tokens: TokenCheck, secret: () => Promise<Uint8Array>) {
    this.#tokens = tokens
    this.#secret = secret
  }

  /** A new login always has a new nonce: what was in the browser before is of no use to whoever put it there. */
  async begin(token: Token): Promise<{ readonly session: Session; readonly value: string }> {
    const nonce = randomBytes(18).toString('base64url')
    return await this.#make(token, nonce)
  }

  /** The same session for longer, where it is due; undefined where it is not. */
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

  /** For as long as any cookie of it may live: a copy may have been renewed, and expires later than the one that was given. */
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
