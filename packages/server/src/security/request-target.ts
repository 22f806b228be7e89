import type { IncomingMessage } from 'node:http'
import { BadRequestError } from '../errors.ts'

/** Headers that must not be repeated: links in a chain of proxies might believe different values. */
const ONCE = new Set([
  'host',
  'authorization',
  'origin',
  'content-type',
  'content-length',
  'x-csrf-token',
  'sec-fetch-site',
])

/** `GET http://host/path`: the form for proxies. The path is routed; the host must equal that of the Host header. */
export function pathOf(target: string): string {
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/i.exec(target) ?? []
  return rest === undefined ? target : rest.startsWith('/') ? rest : `/${rest}`
}

/** `target` as received. */
export function checkTarget(target: string, { headers, rawHeaders }: IncomingMessage): void {
  const [, authority] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? []
  if (authority !== undefined && authority.toLowerCase() !== headers.host?.toLowerCase()) {
    throw new BadRequestError('The request line names another host than the Host header')
  }
  if (authority === undefined && !target.startsWith('/') && target !== '*') {
    throw new BadRequestError('The request target is not a path on this server')
  }
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? ''
    if (ONCE.has(name) && seen.size === seen.add(name).size) {
      throw new BadRequestError(`The request has more than one ${name} header`)
    }
  }
}
