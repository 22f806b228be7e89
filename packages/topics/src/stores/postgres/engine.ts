import { ConfigError } from '../../errors.ts'
import type { Options } from '../../options/options.ts'
import { addressError } from '../address.ts'
import type { StoreAddress, StoreEngine } from '../engine.ts'
import type { SslOptions } from './connection-source.ts'
import { postgresOperator } from './operator.ts'
import type { ClientFactory } from './session.ts'
import { openPostgres } from './store.ts'

export const postgresEngine: StoreEngine = {
  name: 'postgres',
  async open(address, { options, rowCacheBytes, logger }) {
    const { driver } = address
    const statementTimeoutMs = options.duration('statementTimeout', 30_000, { min: 100 })
    const { namespace } = address
    if (driver?.engine === 'postgres') {
      options.done()
      return await openPostgres({ driver, namespace, statementTimeoutMs, rowCacheBytes, logger })
    }
    const url = checkedUrl(address)
    const poolSize = options.integer('poolSize', 10, { min: 2, max: 1_000 })
    const client = options.function<ClientFactory>('client')
    const ssl = sslOf(options, url, client)
    options.done()
    return await openPostgres({ url, client, ssl, namespace, poolSize, statementTimeoutMs, rowCacheBytes, logger })
  },
  operator: address => {
    const { driver, namespace } = address
    if (driver?.engine === 'postgres') return postgresOperator({ driver }, namespace)
    return postgresOperator({ url: checkedUrl(address) }, namespace)
  },
}

function checkedUrl({ option, url }: StoreAddress): string {
  if (!/^postgres(ql)?:\/\//.test(url)) throw addressError(option, url)
  return url
}

/** TLS is configured in one place only: with two that differ, the reader would have to guess which one wins. */
function sslOf(options: Options, url: string, client: ClientFactory | undefined): SslOptions | undefined {
  const ssl = options.value('ssl')
  if (ssl === undefined) return undefined
  const isObject = typeof ssl === 'object' && ssl !== null && !Array.isArray(ssl)
  if (typeof ssl !== 'boolean' && !isObject) {
    throw new ConfigError(
      'open.ssl',
      ssl,
      'true, false, or options of tls.connect() such as { ca, rejectUnauthorized }',
    )
  }
  if (client)
    throw new ConfigError('open.ssl', '(given with client)', 'no ssl beside client: give it to your pg Client')
  if (/[?&](ssl|sslmode|sslcert|sslkey|sslrootcert)=/.test(url)) {
    throw new ConfigError(
      'open.ssl',
      '(given with a URL that has ssl parameters)',
      'either ssl or the parameters of the URL',
    )
  }
  return ssl
}
