import { ConfigError } from 'tidemark'
import type { StoreAddress } from 'tidemark/store'

/** Paths of PEM files. */
type TlsFiles = { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }

export type NatsAddress = {
  readonly servers: string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: TlsFiles
  /** Replicas of the streams that are created; an option of `open()` wins. */
  readonly replicas?: number
  /** Without secrets. */
  readonly shown: string
}

const FORM = /^nats:\/\/(?:([^@/]*)@)?([^@/?#]+)\/?(?:\?([^#]*))?$/
const SERVER = /^(\[[0-9a-f:]+\]|[\w.-]+)(:\d{1,5})?$/i
const TLS = { tlsCaFile: 'caFile', tlsCertFile: 'certFile', tlsKeyFile: 'keyFile' } as const

/** `nats://[user:password@ | token@]host[:port][,host[:port]]…[?replicas=3&tlsCaFile=ca.pem]` */
export function parseAddress({ url, option }: Pick<StoreAddress, 'url' | 'option'>): NatsAddress {
  const [, secret, hosts, query] = FORM.exec(url) ?? []
  const servers = hosts?.split(',') ?? []
  if (servers.length === 0 || servers.some(server => !SERVER.test(server))) {
    throw new ConfigError(option, 'nats:…', "'nats://host:4222', or several servers: 'nats://user:password@a,b,c'")
  }
  const common = { servers, shown: `nats://${servers.join(',')}`, ...parseQuery(option, query ?? '') }
  if (secret === undefined) return common
  const [user = '', pass] = secret.split(':').map(decodeURIComponent)
  return pass === undefined ? { ...common, token: user } : { ...common, user, pass }
}

/** Commands and configuration files have no place for options but the address. */
function parseQuery(option: string, query: string): Pick<NatsAddress, 'tls' | 'replicas'> {
  const tls: Record<string, string> = {}
  let replicas: number | undefined
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'replicas' && /^[1-5]$/.test(value)) replicas = Number(value)
    else if (name in TLS && value !== '') tls[TLS[name as keyof typeof TLS]] = value
    else
      throw new ConfigError(
        option,
        `nats:…?${name}=`,
        `replicas from 1 to 5, and the paths ${Object.keys(TLS).join(', ')}`,
      )
  }
  return { ...(Object.keys(tls).length > 0 && { tls }), ...(replicas !== undefined && { replicas }) }
}
