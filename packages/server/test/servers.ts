import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type RunningServer, type ServerOptions, startServer } from '@tidemark/server'
import { type Logger, open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'

/** Tests provoke warnings on purpose. */
export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  /** The parsed body; undefined where it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape the contract tests check
  readonly body: any
}

export type Call = {
  readonly body?: unknown
  /** In place of `body`: as it is. */
  readonly raw?: string | Buffer
  readonly headers?: Record<string, string>
}

export type TestServer = AsyncDisposable & {
  readonly url: string
  readonly server: RunningServer
  readonly tm: Tidemark
  call(method: string, path: string, call?: Call): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

/** A server on topics of its own in a SQLite file. */
export async function serve(options: ServerOptions = {}): Promise<TestServer> {
  const folder = temporaryFolder()
  const tm =
    options.topics ?? (await open(`sqlite:${join(folder.path, 'app.db')}`, { logger: SILENT, maintenance: false }))
  const server = await startServer({ port: 0, logger: SILENT, topics: tm, ...options })
  const call: TestServer['call'] = (method, path, given) => send(server.url, method, path, given)
  return {
    url: server.url,
    server,
    tm,
    call,
    get: (path, headers) => call('GET', path, headers === undefined ? {} : { headers }),
    post: (path, body, headers) => call('POST', path, { body, ...(headers && { headers }) }),
    async [Symbol.asyncDispose]() {
      await server.close()
      await tm.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Every header can be set, Host too, which fetch forbids; and the path goes out as it is. */
export async function send(
  url: string,
  method: string,
  path: string,
  { body, raw, headers = {} }: Call = {},
): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  return await new Promise((resolve, reject) => {
    const request = httpRequest(
      { hostname, port, method, path, headers: { ...type, ...headers }, agent: false },
      response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const bytes = Buffer.concat(chunks)
          const text = bytes.toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, body: parse(text) })
        })
      },
    )
    request.on('error', reject)
    request.end(content)
  })
}

/** What comes back for bytes as they are. */
export async function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', chunk => (received += chunk))
  socket.on('error', () => undefined)
  socket.write(text)
  await until(() => socket.closed, { what: 'the server to hang up' })
  return received
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
