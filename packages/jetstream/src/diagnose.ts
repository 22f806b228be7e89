import { TidemarkError } from 'tidemark'
import type { Diagnosis, Finding, StoreAddress } from 'tidemark/store'
import { parseAddress } from './nats/address.ts'
import { Client } from './nats/client.ts'
import { StreamGone } from './nats/errors.ts'
import type { Names } from './nats/names.ts'
import type { AccountInfo, StreamInfo } from './nats/stream-api.ts'
import { changedSettings } from './stream-settings.ts'
import { missingDocuments, namespaceStreams } from './streams.ts'

const TIMEOUT_MS = 5_000
const OLDEST = [2, 12] as const
const FULL = 0.95
const NEARLY_FULL = 0.8
const CLOCKS_APART_MS = 5_000
/** Operations of the Raft log that a follower may be behind. */
const LAG = 1_000
/** Servers call a peer offline only much later. */
const SILENT_MS = 5_000

type Examined = {
  readonly name: string
  readonly topic: string | null
  readonly info: StreamInfo | null
  readonly changed: string[]
}

/** Inspects the servers and the streams without writing. */
export async function diagnose(address: StoreAddress, names: Names): Promise<Diagnosis> {
  let client: Client | undefined
  try {
    client = await Client.connect(parseAddress(address), { timeoutMs: TIMEOUT_MS, name: 'tidemark doctor' })
    const account = await client.streams.account()
    const before = [
      found('ok', 'reachable', client.where),
      versionFinding(client.connection.serverVersion),
      storageFinding(account),
      found('ok', 'max_payload', bytesText(client.connection.maxPayload)),
      found(
        'ok',
        'sync_interval',
        "not visible to a client: 'sync_interval: always' in the jetstream block of every server keeps acknowledged " +
          'messages through a power failure',
      ),
    ]
    const streams = await examine(client, names)
    if (streams === null) {
      const none = found('warn', 'namespace', 'there is no namespace here yet', "make it with 'tidemark migrate'")
      return { findings: [...before, none], usable: false }
    }
    const lost = streams.some(({ info }) => info === null)
      ? []
      : documentFindings(await missingDocuments(client, names))
    const findings = [...before, ...clockFinding(streams), ...streamFindings(streams), ...lost]
    return { findings, usable: !findings.some(({ state }) => state === 'bad') }
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error
    return { findings: [found('bad', 'reachable', error.message, 'follow the advice in the message')], usable: false }
  } finally {
    await client?.close()
  }
}

const RESTORE = "restore it from a backup (nats stream restore), or delete the topic with 'tidemark topics delete'"

const found = (state: Finding['state'], check: string, text: string, advice: string | null = null): Finding => ({
  check,
  state,
  found: text,
  advice,
})

function versionFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  if (isOld) return found('bad', 'server version', version, `update every server to ${OLDEST.join('.')} or later`)
  return found('ok', 'server version', version)
}

function storageFinding({ storage, limits }: AccountInfo): Finding {
  const check = 'storage'
  if (limits.max_storage <= 0) return found('ok', check, `${bytesText(storage)} used; the account has no limit`)
  return shareFinding(
    check,
    storage,
    limits.max_storage,
    'raise the limit of the account (max_file), or shorten the retention',
  )
}

function shareFinding(check: string, used: number, most: number, advice: string): Finding {
  const text = `${bytesText(used)} of ${bytesText(most)} used`
  const share = used / most
  if (share < NEARLY_FULL) return found('ok', check, text)
  return found(share < FULL ? 'warn' : 'bad', check, text, advice)
}

/** null: there is no namespace. */
async function examine(client: Client, names: Names): Promise<Examined[] | null> {
  try {
    const streams = await namespaceStreams(client, names)
    return await Promise.all(
      streams.map(async ({ settings, topic }) => {
        const info = await client.streams.info(settings.name).catch(error => {
          if (error instanceof StreamGone) return null
          throw error
        })
        return { name: settings.name, topic, info, changed: info === null ? [] : changedSettings(info, settings) }
      }),
    )
  } catch (error) {
    if (error instanceof StreamGone) return null
    throw error
  }
}

function clockFinding(streams: readonly Examined[]): Finding[] {
  const ts = streams.find(({ info }) => info?.ts !== undefined)?.info?.ts
  if (ts === undefined) return []
  const apart = Math.round(Math.abs(Date.parse(ts) - Date.now()))
  const text = `${apart} ms apart from this machine's`
  if (apart < CLOCKS_APART_MS) return [found('ok', 'clock', text)]
  return [found('warn', 'clock', text, "leases and times go by the servers' clocks; set all clocks by NTP")]
}

function streamFindings(streams: readonly Examined[]): Finding[] {
  const checks: readonly (readonly [check: string, fine: string, judge: (stream: Examined) => Finding[]])[] = [
    ['streams', `all ${streams.length} exist`, missing],
    ['stream settings', 'as Tidemark made them', changed],
    ['replicas', replicasText(streams), replicas],
    ['leaders', 'every stream has one', leader],
    ['followers', 'all are online and current', followers],
    ['stream limits', 'none is near its limit', limits],
  ]
  return checks.flatMap(([check, fine, judge]) => {
    const wrong = streams.flatMap(judge)
    return wrong.length > 0 ? wrong : [found('ok', check, fine)]
  })
}

const documentFindings = (lost: readonly { topic: string; what: string }[]): Finding[] =>
  lost.map(({ topic, what }) =>
    found('bad', 'documents', `topic '${topic}' has lost ${what}: somebody has purged its stream`, RESTORE),
  )

const missing = ({ name, topic, info }: Examined): Finding[] =>
  info !== null ? [] : [found('bad', 'streams', `stream ${name} of topic '${topic ?? ''}' does not exist`, RESTORE)]

const changed = ({ name, changed: settings }: Examined): Finding[] =>
  settings.map(setting => found('bad', 'stream settings', `${name}: ${setting}`, "set it back with 'tidemark repair'"))

const replicasText = (streams: readonly Examined[]): string =>
  `${[...new Set(streams.map(({ info }) => info?.config.num_replicas ?? 0))].join(' or ')} of each stream`

/** On a single server, whose cluster has no name, there is no choice. */
const replicas = ({ name, info }: Examined): Finding[] =>
  info === null || info.cluster?.name === undefined || info.config.num_replicas >= 3
    ? []
    : [
        found(
          'warn',
          'replicas',
          `stream ${name} has ${info.config.num_replicas} on a cluster: with its server its messages are gone`,
          `nats stream edit ${name} --replicas 3, and open with replicas: 3`,
        ),
      ]

const leader = ({ name, info }: Examined): Finding[] =>
  info?.cluster === undefined || info.cluster.leader
    ? []
    : [found('bad', 'leaders', `stream ${name} has none`, 'start the missing servers: more than half must run')]

const followers = ({ name, info }: Examined): Finding[] =>
  (info?.cluster?.replicas ?? []).flatMap(({ name: server, current, offline = false, lag = 0, active = 0 }) => {
    const of = `${server}, of stream ${name},`
    const silentMs = active / 1e6
    if (offline || (!current && silentMs > SILENT_MS)) {
      const advice = `start it; if it is gone for good, remove it (nats server raft peer-remove ${server}) while a spare server runs`
      return [found('warn', 'followers', `${of} is not heard of for ${Math.round(silentMs / 1_000)} s`, advice)]
    }
    if (current && lag < LAG) return []
    return [found('warn', 'followers', `${of} is ${lag} operations behind`, 'see whether its disk or network is slow')]
  })

const limits = ({ name, info }: Examined): Finding[] => {
  const most = info?.config.max_bytes ?? -1
  if (info === null || most <= 0) return []
  const { state, ...finding } = shareFinding(
    'stream limits',
    info.state.bytes,
    most,
    'raise max_bytes, or shorten the retention',
  )
  return state === 'ok' ? [] : [{ ...finding, state, found: `${name}: ${finding.found}` }]
}

function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${Number((bytes / 1_000 ** power).toPrecision(3))} ${units[power]}`
}
