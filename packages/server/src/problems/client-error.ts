import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SECURITY_HEADERS } from '../security/headers.ts'
import { PROBLEM_TYPE, type Problem } from './problem.ts'

/**
 * Input that is not HTTP reaches no route; the socket gets an answer and is closed. Returns the status; undefined if
 * the socket is closed.
 */
export function answerClientError({ code }: NodeJS.ErrnoException, socket: Socket): number | undefined {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return undefined
  }
  const kind = KINDS[code ?? ''] ?? ([400, 'Bad Request', 'This is not a valid HTTP request'] as const)
  answerSocket(socket, ...kind)
  return kind[0]
}

/** CONNECT has no response object: without a listener Node hangs up silently. */
export function answerConnect(socket: Socket): number {
  // A client that resets the connection instead of reading the answer is not our fault.
  socket.on('error', () => socket.destroy())
  answerSocket(socket, 405, 'Method Not Allowed', 'This server is no proxy')
  // Nothing checks its timeout any more.
  socket.destroySoon()
  return 405
}

function answerSocket(socket: Socket, status: number, title: string, detail: string): void {
  const body = JSON.stringify(problemOf(status, title, detail))
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

/** An Expect header other than 100-continue: Node would answer it without our headers. */
export function answerExpectation(_: IncomingMessage, response: ServerResponse): number {
  const body = JSON.stringify(problemOf(417, 'Expectation Failed', 'Only 100-continue can be expected'))
  const headers = { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', connection: 'close' }
  response.writeHead(417, { ...SECURITY_HEADERS, ...headers }).end(body)
  return 417
}

const problemOf = (status: number, title: string, detail: string): Problem => ({
  type: 'urn:tidemark:problem:bad-request',
  title,
  status,
  detail,
  code: 'TIDEMARK_BAD_REQUEST',
})

const KINDS: { readonly [code: string]: readonly [number, string, string] } = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request did not come in time'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The headers are too large'],
}
