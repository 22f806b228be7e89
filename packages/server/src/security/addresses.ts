import { BlockList, isIP } from 'node:net'
import { ConfigError } from 'tidemark'

/**
 * The name in a Host header, or in an address as a browser shows it; without port, in lower case, IPv6 without
 * brackets.
 */
export function hostNameOf(host: string): string | undefined {
  const [, bracketed, name] = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host) ?? []
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed.toLowerCase() : undefined
  return name?.toLowerCase()
}

export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(plain(address))

/** An IPv4 address on an IPv6 socket is the IPv4 address. */
export const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** Addresses and networks (`10.0.0.0/8`). */
export function parseNetworks(path: string, given: readonly string[]): BlockList {
  const networks = new BlockList()
  for (const each of given) {
    const [, address = '', bits] = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(each) ?? []
    const family = isIP(address)
    const longest = family === 6 ? 128 : 32
    if (family === 0 || (bits !== undefined && Number(bits) > longest)) {
      throw new ConfigError(path, each, "addresses or networks, such as '10.0.0.7' or '10.0.0.0/8'")
    }
    networks.addSubnet(address, Number(bits ?? longest), family === 6 ? 'ipv6' : 'ipv4')
  }
  return networks
}

export const isIn = (networks: BlockList, address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** The unit that limits count: a host with IPv6 usually has a whole /64 of addresses to choose from. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')
}
