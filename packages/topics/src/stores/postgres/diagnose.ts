import { bad, type Finding, ok, preReleaseFinding, schemaFinding, warn } from '../finding.ts'
import type { Diagnosis } from '../operator.ts'
import type { Database } from './database.ts'
import { areFunctionsInstalled } from './install-functions.ts'
import { Listener } from './listener.ts'
import { findSchema, NEWEST, OLDEST_SERVER } from './migrate.ts'
import type { Row } from './row.ts'
import { WakeUps } from './wake-ups.ts'

const CLOCKS_APART_MS = 5_000
const FEW_CONNECTIONS = 0.9

const SERVER = `
  select current_setting('server_version') as version, current_setting('server_version_num') as number,
    pg_is_in_recovery() as replica, current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits,
    current_setting('max_connections') as most,
    (select count(*) from pg_stat_activity where backend_type = 'client backend') as used`

/** Inspects the server and the schema without writing. */
export async function diagnose(database: Database): Promise<Diagnosis> {
  let server: Row | undefined
  try {
    server = (await database.query(SERVER))[0]
  } catch (error) {
    const findings = [
      bad('reachable', (error as Error).message, 'see that the server runs, and that the address is right'),
    ]
    return { findings, usable: false }
  }
  const { version, isPreRelease } = await findSchema(database)
  const isCurrent = version === NEWEST && !isPreRelease
  const hasFunctions = isCurrent && (await areFunctionsInstalled(database))
  const findings = [
    ok('reachable', database.location),
    ...serverFindings(server ?? {}),
    await clockFinding(database),
    // A replica receives no notifications.
    ...(server?.replica === 't' ? [] : [await listenFinding(database)]),
    isPreRelease ? preReleaseFinding() : schemaFinding(version, NEWEST),
    ...(isCurrent ? [functionsFinding(database, hasFunctions)] : []),
    ...(hasFunctions ? [await clusterFinding(database)] : []),
  ]
  return { findings, usable: hasFunctions && !findings.some(({ state }) => state === 'bad') }
}

function serverFindings({ version, number, replica, fsync, commits, most, used }: Row): Finding[] {
  const share = Number(used) / Number(most)
  const connections = `${used} of ${most} in use`
  return [
    Number(number) >= OLDEST_SERVER
      ? ok('server version', version ?? '')
      : bad('server version', version ?? '', 'upgrade the server to PostgreSQL 14 or later'),
    replica === 't'
      ? bad('role', 'the server is a replica, which takes no writes', 'connect to the primary')
      : ok('role', 'primary'),
    fsync === 'on' && commits !== 'off'
      ? ok('durability', `fsync ${fsync}, synchronous_commit ${commits}`)
      : warn(
          'durability',
          `fsync ${fsync}, synchronous_commit ${commits}`,
          'a crash can lose what was published: turn both on',
        ),
    share < FEW_CONNECTIONS
      ? ok('connections', connections)
      : warn('connections', connections, 'raise max_connections, or lower poolSize in open()'),
  ]
}

async function clockFinding(database: Database): Promise<Finding> {
  const before = Date.now()
  const [row] = await database.query('select extract(epoch from clock_timestamp()) * 1000 as now')
  const apart = Math.round(Math.abs(Number(row?.now) - (before + Date.now()) / 2))
  const found = `${apart} ms apart from this machine's`
  if (apart < CLOCKS_APART_MS) return ok('clock', found)
  return warn('clock', found, "leases and times go by the server's clock; set this machine's by NTP")
}

async function listenFinding(database: Database): Promise<Finding> {
  const wakeUps = new WakeUps(database)
  const listener = new Listener(database, wakeUps)
  try {
    if (await listener.start()) return ok('LISTEN', 'works: other processes hear of a message at once')
  } finally {
    await listener.close()
    await wakeUps.close()
  }
  const advice =
    'connect to the server directly, or have the pooler keep sessions; until then new messages are found by looking'
  return warn('LISTEN', 'does not work: a pooler gives every transaction another connection', advice)
}

function functionsFinding({ functions }: Database, areThere: boolean): Finding {
  if (areThere) return ok('functions', `installed in schema ${functions}`)
  const advice =
    "run 'tidemark migrate' of this version; a program whose user may create schemas does that when it starts"
  return warn('functions', `those of this version are missing (schema ${functions})`, advice)
}

async function clusterFinding(database: Database): Promise<Finding> {
  const [row] = await database.query(database.sql('select tidemark_fn.cluster_state() as state'))
  if (row?.state !== 'restored') return ok('cluster', "the positions are this server's")
  const advice = "stop what uses it, and run 'tidemark repair' once"
  return bad('cluster', "the namespace was restored from another server: its positions are that server's", advice)
}
