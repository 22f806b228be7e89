import { ConfigError } from 'tidemark'
import type { Operator, RepairReport, SchemaVersions, StoreAddress } from 'tidemark/store'
import { diagnose } from './diagnose.ts'
import { parsed } from './namespace.ts'
import { parseAddress } from './nats/address.ts'
import { Client } from './nats/client.ts'
import { StreamGone } from './nats/errors.ts'
import { Names } from './nats/names.ts'
import { openJetStream } from './store.ts'
import { restoreSettings } from './stream-settings.ts'
import { namespaceStreams } from './streams.ts'

/** Layout of the streams. There is one so far. */
const LAYOUT = 1
const TIMEOUT_MS = 5_000
const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

/** What can be done with a namespace that need not be open. */
export function jetStreamOperator(address: StoreAddress): Operator {
  const { namespace } = address
  const names = new Names(namespace)
  const connected = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = await Client.connect(parseAddress(address), { timeoutMs: TIMEOUT_MS, name: 'tidemark operator' })
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }
  const versions = async (client: Client): Promise<SchemaVersions> => ({
    location: client.where,
    found: (await exists(client, names)) ? LAYOUT : 0,
    newest: LAYOUT,
    hasFunctions: true,
  })
  return {
    versions: () => connected(versions),
    migrate: () =>
      connected(async client => {
        const before = await versions(client)
        const parsed = parseAddress(address)
        const settings = {
          namespace,
          replicas: parsed.replicas ?? 1,
          timeoutMs: TIMEOUT_MS,
          rowCacheBytes: 0,
          logger: QUIET,
        }
        const store = await openJetStream({ address: parsed, ...settings })
        await store.close()
        return before
      }),
    migrationSql: async () => {
      throw new ConfigError('migrationSql.url', 'nats:…', 'an SQL database: JetStream has no SQL. Use migrate()')
    },
    repair: () => connected(client => repair(client, names)),
    diagnose: () => diagnose(address, names),
  }
}

async function exists(client: Client, names: Names): Promise<boolean> {
  try {
    return parsed(await client.last(names.namespaceStream(), names.namespaceDocument())) !== null
  } catch (error) {
    if (error instanceof StreamGone) return false
    throw error
  }
}

/** Sets back what somebody has changed. What somebody has deleted can't be brought back. */
async function repair(client: Client, names: Names): Promise<RepairReport> {
  const problems: string[] = []
  const changes: string[] = []
  let mended = true
  for (const { settings, topic } of await namespaceStreams(client, names)) {
    try {
      for (const changed of await restoreSettings(client, QUIET, settings)) {
        problems.push(`Stream ${settings.name}: ${changed}.`)
        changes.push(`Stream ${settings.name}: set back ${changed.split(' ', 1)[0]}.`)
      }
    } catch (error) {
      if (!(error instanceof StreamGone)) throw error
      mended = false
      problems.push(`Stream ${settings.name} of topic '${topic ?? ''}' does not exist.`)
    }
  }
  return { location: client.where, problems, changes, mended }
}
