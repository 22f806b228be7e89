import type { Socket } from 'node:net'
import { PROBLEM_TYPE, type Problem } from './problem.ts'

/** What is no HTTP at all reaches no route; the socket is told, and closed. */
export function answerClientError({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, title, detail] = KINDS[code ?? ''] ?? [400, 'Bad Request', 'This is not a valid HTTP request']
  const problem: Problem = {
    type: 'urn:tidemark:problem:bad-request',
    title,
    status,
    detail,
    code: 'TIDEMARK_BAD_REQUEST',
  }
  const body = JSON.stringify(problem)
  const headers = [`content-type: ${PROBLEM_TYPE}`, `content-length: ${Buffer.byteLength(body)}`, 'connection: close']
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}

const KINDS: { readonly [code: string]: readonly [number, string, string] } = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'The request did not come in time'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'The headers are too large'],
}
