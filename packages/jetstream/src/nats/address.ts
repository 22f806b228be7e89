import { ConfigError } from 'tidemark'
import type { StoreAddress } from 'tidemark/store'

export type NatsAddress = {
  readonly servers: string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  /** Without secrets. */
  readonly shown: string
}

const FORM = /^nats:\/\/(?:([^@/]*)@)?([^@/?#]+)\/?$/

/** `nats://[user:password@ | token@]host[:port][,host[:port]]…` */
export function parseAddress({ url, option }: Pick<StoreAddress, 'url' | 'option'>): NatsAddress {
  const [, secret, hosts] = FORM.exec(url) ?? []
  const servers = hosts?.split(',') ?? []
  if (servers.length === 0 || servers.some(server => !/^(\[[0-9a-f:]+\]|[\w.-]+)(:\d{1,5})?$/i.test(server))) {
    throw new ConfigError(option, 'nats:…', "'nats://host:4222', or several servers: 'nats://user:password@a,b,c'")
  }
  const shown = `nats://${servers.join(',')}`
  if (secret === undefined) return { servers, shown }
  const [user = '', pass] = secret.split(':').map(decodeURIComponent)
  return pass === undefined ? { servers, shown, token: user } : { servers, shown, user, pass }
}
