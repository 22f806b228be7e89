import type { ServerResponse } from 'node:http'
import type { Identity } from './identity.ts'

/**
 * Requests that are not completely answered. When a token is revoked or expires, its streams and waiting requests end
 * too.
 */
export class OpenRequests {
  readonly #open = new Map<ServerResponse, Identity>()

  add(response: ServerResponse, identity: Identity): void {
    if (identity.by === 'local') return
    this.#open.set(response, identity)
    response.once('close', () => this.#open.delete(response))
  }

  endInvalid(): void {
    for (const [response, identity] of this.#open) if (!identity.isValid()) response.destroy()
  }
}
