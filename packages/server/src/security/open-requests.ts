import type { ServerResponse } from 'node:http'
import type { Identity } from './identity.ts'

/** Requests that are not answered to their end. A token that is revoked, or expires, ends its streams and waits too. */
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
