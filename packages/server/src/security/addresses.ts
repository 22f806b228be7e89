import { isIP } from 'node:net'

/** The name in a Host header, or in an address as a browser shows it; without port, in lower case, IPv6 without brackets. */
export function hostNameOf(host: string): string | undefined {
  const [, bracketed, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed.toLowerCase() : undefined
  return name?.toLowerCase()
}

export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(plain(address))

/** An IPv4 address that came in on an IPv6 socket is the IPv4 address. */
export const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')
