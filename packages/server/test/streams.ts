import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { until } from '../../../testing/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of many shapes
export type Received = { readonly id?: string; readonly event: string; readonly data: any }

/** A reader of server-sent events. */
export class Listener implements AsyncDisposable {
  readonly events: Received[] = []
  /** All that came, heartbeats too. */
  text = ''
  isEnded = false
  readonly response: IncomingMessage
  readonly #request: ClientRequest

  static async open(url: string, path: string, headers: Record<string, string> = {}): Promise<Listener> {
    const request = httpRequest(url + path, { headers, agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return new Listener(request, response)
  }

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#read(chunk))
    response.on('close', () => {
      this.isEnded = true
    })
    response.on('error', () => undefined)
    request.on('error', () => undefined)
  }

  async next(matches: (event: Received) => boolean, what: string): Promise<Received> {
    return await until(() => this.events.find(matches), { what })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#request.destroy()
  }

  #rest = ''

  #read(chunk: string): void {
    this.text += chunk
    const blocks = (this.#rest + chunk).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split('\n').map(line => [line.split(': ')[0], line.slice(line.indexOf(': ') + 2)]),
      )
      if (fields.event === undefined) continue
      this.events.push({
        event: fields.event,
        data: JSON.parse(fields.data ?? 'null'),
        ...(fields.id && { id: fields.id }),
      })
    }
  }
}
