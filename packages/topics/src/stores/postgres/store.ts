import type { Logger } from '../../observe/logger.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { Store } from '../store.ts'
import { postgresBackfills } from './backfills.ts'
import { SharedClaims } from './claim.ts'
import { type ConnectionSource, connectTo } from './connection-source.ts'
import { Database, functionsOf } from './database.ts'
import { mapError } from './database-errors.ts'
import { postgresDeadLetters } from './dead-letters.ts'
import { DedupePruner } from './dedupe.ts'
import { dropNamespace } from './drop-namespace.ts'
import { FunctionsInUse } from './functions-in-use.ts'
import { HeartbeatConnection, postgresHeartbeats } from './heartbeats.ts'
import { postgresInspection } from './inspection.ts'
import { postgresJobs } from './jobs.ts'
import { postgresLeases } from './leases.ts'
import { Listener } from './listener.ts'
import { postgresLog } from './log.ts'
import { openNamespace } from './opened.ts'
import { postgresOperator } from './operator.ts'
import { Partitions } from './partitions.ts'
import { STATEMENT_TIMEOUT_MS } from './statement-limits.ts'
import { postgresSubscriptions } from './subscriptions.ts'
import { postgresTopics } from './topics.ts'
import { postgresTracking } from './tracking.ts'
import { WakeUps } from './wake-ups.ts'

export type PostgresOptions = ConnectionSource & {
  readonly namespace: string
  readonly poolSize?: number
  readonly rowCacheBytes: number
  readonly logger: Logger
  readonly applicationName?: string
  readonly statementTimeoutMs?: number
}

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { namespace, rowCacheBytes, logger, poolSize = 10, applicationName = 'tidemark' } = options
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const settings = { poolSize, applicationName, statementTimeoutMs, functions: functionsOf(namespace), logger }
  const connections = await connectTo(options, settings)
  const database = new Database({ connections, namespace, logger, statementTimeoutMs })
  const wakeUps = new WakeUps(database)
  const listener = new Listener(database, wakeUps)
  try {
    const { incarnation, ownsTables } = await openNamespace(database)
    database.incarnation = incarnation
    // Notifications only arrive if sessions are kept, so one proof serves both.
    database.keepsSessions = await listener.start()
    const functions = new FunctionsInUse(database, () => postgresOperator(options, namespace).migrate())
    return assemble(database, { wakeUps, listener, functions, rowCacheBytes, ownsTables })
  } catch (error) {
    await listener.close()
    await database.close()
    throw mapError(error, database.location, statementTimeoutMs)
  }
}

/** Default, if the caller gives no time. */
const CLOSE_MS = 5_000

type Parts = {
  readonly wakeUps: WakeUps
  readonly listener: Listener
  readonly functions: FunctionsInUse
  readonly rowCacheBytes: number
  readonly ownsTables: boolean
}

function assemble(database: Database, { wakeUps, listener, functions, rowCacheBytes, ownsTables }: Parts): Store {
  const partitions = new Partitions(database)
  const pruner = new DedupePruner(database)
  const claims = new SharedClaims(database, rowCacheBytes)
  const beating = new HeartbeatConnection(database)
  database.onLostConnection = () => claims.forgetAll()
  // The listener must neither block a repair of what is there now nor report anything about it.
  database.guard.onGone(() => void listener.close())
  const closeAll = async (withinMs: number): Promise<void> => {
    const until = performance.now() + withinMs
    // The last wake-ups are sent on the listening connection.
    const silent = wakeUps.close().then(() => listener.close())
    const idle = [partitions.idle(), pruner.idle(), silent, beating.close(), functions.close()]
    await withTimeout(Promise.allSettled(idle), withinMs)
    await database.close(Math.max(0, until - performance.now()))
  }
  let closing: Promise<void> | undefined
  return {
    capabilities: { persistent: true, oneConnection: database.isSingle },
    location: database.location,
    topics: postgresTopics(database, partitions),
    log: postgresLog(database, { partitions, pruner, wakeUps }),
    subscriptions: postgresSubscriptions(database, claims),
    heartbeats: postgresHeartbeats(database, beating),
    leases: postgresLeases(database, claims, wakeUps),
    deadLetters: postgresDeadLetters(database),
    tracking: postgresTracking(database),
    backfills: postgresBackfills(database, wakeUps),
    jobs: postgresJobs(database, ownsTables),
    inspection: postgresInspection(database),
    watch: wake => listener.watch(wake),
    hint: topicId => wakeUps.send(topicId),
    onGone: tell => database.guard.onGone(tell),
    dropNamespace: () => dropNamespace(database),
    close: (withinMs = CLOSE_MS) => {
      closing ??= closeAll(withinMs)
      return closing
    },
  }
}
