import type { IncomingMessage } from 'node:http'
import type { BlockList } from 'node:net'
import { isIP } from 'node:net'
import { isIn, plain } from './addresses.ts'

/** Headers that proxies and networks in front of servers add, in all their forms; with _ for - too. */
const FORWARDING = new RegExp(
  `^(?:${[
    '(?:x-)?forwarded(?:-.*)?',
    '(?:x-)?forward(?:er)?-for',
    '(?:x-)?via',
    'x-original-.*',
    '(?:.*-)?(?:real|client|remote|originating|proxyuser|user)-?ip(?:v6)?',
    '(?:x-)?remote-addr',
    'x-envoy-.*',
    'x-azure-.*',
    'cf-(?:ray|visitor|connecting-ip(?:v6)?)',
    'cdn-loop',
  ].join('|')})$`,
)

/** The name of a header that shows that the request came through a proxy. */
export const forwardingHeader = ({ headers }: IncomingMessage): string | undefined =>
  Object.keys(headers).find(name => FORWARDING.test(name.replaceAll('_', '-')))

/**
 * Where a request comes from: the other end of its socket. If that is a trusted proxy, the last address of
 * X-Forwarded-For that is not a trusted proxy; anybody could have written what stands before it.
 */
export function clientAddress({ socket, headers }: IncomingMessage, trusted: BlockList): string {
  let address = plain(socket.remoteAddress ?? '')
  if (!isIn(trusted, address)) return address
  const chain = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map(each => withoutPort(each.trim()))
  for (const each of chain.toReversed()) {
    if (isIP(each) === 0) break
    address = each
    if (!isIn(trusted, address)) break
  }
  return address
}

function withoutPort(text: string): string {
  const [, bracketed] = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i.exec(text) ?? []
  const [, dotted] = /^([\d.]+)(?::\d{1,5})?$/.exec(text) ?? []
  return plain(bracketed ?? dotted ?? text).toLowerCase()
}
