/** A server in front of the S3 server that changes, cuts or answers what passes. It signs anew what it changes. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3StorageOptions } from '../../src/index.ts'
import { requestTo } from './requests.ts'

export type Passing = {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

type Verdict = 'pass' | 'cut before' | 'cut after' | { readonly status: number; readonly body?: string }

export type Door = AsyncDisposable & { readonly endpoint: string; readonly passed: readonly Passing[] }

/** Signed headers that a request keeps; the others belong to its signature or its connection. */
const KEPT = ['if-none-match', 'if-match', 'range', 'x-amz-copy-source', 'x-amz-copy-source-if-match']

export async function openDoor(
  options: S3StorageOptions,
  decide: (passing: Passing) => Verdict,
  drops: readonly string[] = [],
): Promise<Door> {
  const passed: Passing[] = []
  const server = createServer((request, response) => void pass(request, response))
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const passing = { method, url, headers: headers as Record<string, string>, body: Buffer.concat(chunks) }
    passed.push(passing)
    const verdict = decide(passing)
    if (verdict === 'cut before') return void request.socket.destroy()
    if (typeof verdict === 'object') return void response.writeHead(verdict.status).end(verdict.body)
    const kept = KEPT.filter(name => !drops.includes(name) && passing.headers[name] !== undefined)
    const answer = await requestTo(options, {
      method,
      url: url.replace(/^\/[^/?]*\/?/, ''),
      headers: Object.fromEntries(kept.map(name => [name, passing.headers[name] ?? ''])),
      ...(method === 'PUT' && { body: passing.body }),
    })
    if (verdict === 'cut after') return void request.socket.destroy()
    const { 'content-length': _, connection: __, ...rest } = Object.fromEntries(answer.headers)
    response.writeHead(answer.status, rest).end(answer.body)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    passed,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
