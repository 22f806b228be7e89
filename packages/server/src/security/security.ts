import { randomBytes } from 'node:crypto'
import type { Settings } from '../options.ts'
import { Authenticator } from './authenticator.ts'
import { Guard } from './guard.ts'
import { OpenRequests } from './open-requests.ts'
import { Sessions } from './sessions.ts'
import { TokenCheck } from './token-check.ts'

const LOOK_MS = 1_000

/** Everything that decides who may do what. */
export class Security {
  readonly tokens: TokenCheck
  readonly sessions: Sessions
  readonly authenticator: Authenticator
  readonly guard: Guard
  /** Whether cookies are sent over TLS only. */
  readonly isSecure: boolean
  readonly #openRequests = new OpenRequests()
  readonly #timer: NodeJS.Timeout

  constructor(settings: Settings) {
    const { limits, authenticate, allowedHosts, trustedProxies, tls, secureCookies } = settings
    this.isSecure = secureCookies || tls !== undefined
    this.tokens = new TokenCheck(settings.tokens, settings.tokenFile)
    this.sessions = new Sessions(this.tokens, secretOf(settings))
    const { tokens, sessions, isSecure } = this
    const wrongPerMinute = limits.wrongTokensPerMinute
    this.authenticator = new Authenticator({ tokens, sessions, authenticate, isSecure, wrongPerMinute })
    this.guard = new Guard({
      authenticator: this.authenticator,
      sessions,
      openRequests: this.#openRequests,
      allowedHosts,
      trustedProxies,
      isSecure,
      limits,
    })
    this.#timer = setInterval(() => void this.#look(), LOOK_MS)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Finds tokens that were changed, revoked or have expired. Never rejects: errors of the file go to the log. */
  async #look(): Promise<void> {
    // A client that got its new token before the server is no attacker.
    if (await this.tokens.refresh()) this.authenticator.forgive()
    this.#openRequests.endInvalid()
  }
}

/** The key of the namespace, so that sessions survive a restart; without topics they end with the process. */
function secretOf({ topics }: Settings): () => Promise<Uint8Array> {
  if (topics === undefined) {
    const secret = randomBytes(32)
    return async () => secret
  }
  return () => topics.deriveKey('http sessions')
}
