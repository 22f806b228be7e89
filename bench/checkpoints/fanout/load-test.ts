import { percentile } from '../../statistics.ts'
import type { LoadTest } from '../fanout-amplification.ts'
import type { Stage } from '../frame/checkpoint.ts'
import { above, atLeast, below, type Criterion, holds } from '../frame/criterion.ts'
import { Consumers } from '../load/consumers.ts'
import { Publisher } from '../load/publisher.ts'
import { openQuietly } from '../load/quiet.ts'
import { openSession } from '../postgres/session.ts'
import { FIXED_WORK, statementDurations } from '../postgres/statement-durations.ts'
import { isLog, type TableSize, tableSizes, walPosition } from '../postgres/table-sizes.ts'

const TOPIC = 'orders.events'
const MB = 2 ** 20
/** Of tables that have a few rows a group, below which a share says nothing. */
const SMALL_BYTES = 4 * MB
/** Thresholds of the specification. */
const BLOAT_PERCENT = 20
const WAL_PERCENT_OF_DISK = 50
const CLAIM_MS = 10

export type LoadTestResult = LoadTest & {
  readonly published: number
  readonly delivered: number
  readonly drainedSeconds: number | null
  /** Share of the messages due in the sustained phase that were published in it. */
  readonly rateHeld: number
  readonly walBytes: number
  readonly walSeconds: number
  readonly walMessages: number
  readonly tables: readonly TableSize[]
  readonly stateBytes: { readonly half: number; readonly end: number }
  readonly cleaned: number
  readonly cleanUpSeconds: number
  /** Milliseconds on the server. */
  readonly claims: { readonly count: number; readonly p95: number }
  /** Of a statement that always does the same work. */
  readonly fixedWork: { readonly p95: number; readonly least: number }
  /** As the consumer sees it, with its own queue for connections. */
  readonly claimSeenP95: number
  readonly errors: readonly string[]
}

/** A database of its own on the server of the run. */
export type Place = { readonly url: string; readonly name: string; readonly dataDir: string }

/** Warm-up at a tenth, ramp-up, sustained load, cool-down, clean-up: the specification's procedure. */
export async function runLoadTest(stage: Stage, test: LoadTest, place: Place): Promise<LoadTestResult> {
  const { url } = place
  const { id, tracking, groups, perSecond } = test
  const seconds = stage.pick(8, 3_600)
  await using tidemark = await openQuietly(url, { maintenance: false })
  const partitionRows = Math.max(1_000, Math.round((perSecond * seconds) / 2))
  await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub', tracking, partitionRows })
  await using client = await openSession(url)
  await using ended = new AsyncDisposableStack()
  const processes = stage.pick(groups > 32 ? 2 : 1, 4)
  const consumers = Array.from({ length: processes }, (_, index) =>
    ended.use(
      new Consumers({
        url,
        maintenance: false,
        roundTrips: 1,
        roundTrip: FIXED_WORK,
        subscriptions: share(groups, processes, index),
      }),
    ),
  )
  stage.phase(`${id}: ${groups} groups, ${tracking} tracking, ${perSecond} messages a second`)
  await Promise.all(consumers.map(each => each.started))
  await using publisher = new Publisher({ url, topic: TOPIC, perSecond: perSecond / 10 })
  await publisher.started
  await stage.pause(stage.pick(1.5, 300))
  for (const share of [0.4, 0.7]) {
    publisher.setRate(perSecond * share)
    await stage.pause(stage.pick(0.5, 150))
  }
  publisher.setRate(perSecond)
  const before = publisher.published
  const started = performance.now()
  const walBefore = await walPosition(client)
  await stage.pause(seconds / 2)
  const half = stateBytesOf(await tableSizes(client))
  await stage.pause(seconds / 2)
  const walSeconds = (performance.now() - started) / 1_000
  const walBytes = (await walPosition(client)) - walBefore
  const walMessages = publisher.published - before
  const published = await publisher.stop()
  const delivered = (): number => Math.min(...consumers.map(each => each.delivered()))
  const drainedSeconds = await stage.within(stage.pick(60, 600), () => delivered() >= published)
  // Autovacuum looks at a table now and then: it is given a few of its rounds.
  let tables = await tableSizes(client)
  await stage.within(stage.pick(10, 180), async () => {
    tables = await tableSizes(client)
    return worstOf(tables).deadPercent < BLOAT_PERCENT
  })
  const end = stateBytesOf(tables)
  const claims = statementDurations(place.dataDir, place.name, '.claim(')
  const fixedWork = statementDurations(place.dataDir, place.name, 'fixed work')
  await tidemark.configureTopic(TOPIC, { retention: 0, lease: 0 })
  const cleaning = performance.now()
  const { removed = 0 } = await tidemark.admin.jobs.messages.runOnce()
  const cleanUpSeconds = (performance.now() - cleaning) / 1_000
  const errors = consumers.flatMap(each => each.errors)
  await Promise.all(consumers.map(each => each.stop()))
  return {
    ...test,
    ...{ published, delivered: delivered(), drainedSeconds, rateHeld: walMessages / (perSecond * walSeconds) },
    ...{ walBytes, walSeconds, walMessages, tables, stateBytes: { half, end } },
    ...{ cleaned: removed, cleanUpSeconds, errors: errors.slice(0, 10) },
    claims: { count: claims.length, p95: percentile(claims, 0.95) },
    fixedWork: { p95: percentile(fixedWork, 0.95), least: percentile(fixedWork, 0.05) },
    claimSeenP95: Math.max(...consumers.map(each => each.claim.p95)),
  }
}

export function judgeLoadTest(result: LoadTestResult, diskMBps: number): Criterion[] {
  const { id, published, delivered, drainedSeconds, rateHeld, walBytes, walSeconds, walMessages, perSecond } = result
  const { claims, fixedWork } = result
  const noise = Math.max(1, fixedWork.p95 / fixedWork.least)
  const worst = worstOf(result.tables)
  const walMBps = walBytes / MB / walSeconds
  const { half, end } = result.stateBytes
  const largest = [...result.tables.filter(each => !isLog(each))].sort((a, b) => b.bytes - a.bytes).slice(0, 3)
  return [
    holds(drainedSeconds !== null && published > 0, {
      name: `${id}: every group received every message`,
      figure: `${delivered} of ${published}`,
      note: `${result.groups} groups, ${result.tracking} tracking`,
    }),
    atLeast(95, {
      name: `${id}: the rate is held`,
      value: 100 * Math.min(1, rateHeld),
      unit: '%',
      note: `${perSecond} messages a second`,
    }),
    below(BLOAT_PERCENT, {
      name: `${id}: bloat of logs and tracking, worst table`,
      value: worst.deadPercent,
      unit: '%',
      note: `${worst.name}: ${worst.dead} dead of ${worst.dead + worst.live} rows`,
    }),
    below(100 + BLOAT_PERCENT, {
      name: `${id}: bloat of subscriptions, leases and the like, end against half`,
      value: end <= SMALL_BYTES ? 100 : (100 * end) / half,
      unit: '%',
      note: `${kB(half)} at half time, ${kB(end)} at the end (${largest.map(({ name, bytes, live, dead }) => `${name} ${kB(bytes)}, ${live} live and ${dead} dead rows`).join('; ')}). They have few rows, updated by every claim, so a share of dead rows says nothing; judged above ${kB(SMALL_BYTES)}`,
    }),
    below(WAL_PERCENT_OF_DISK, {
      name: `${id}: WAL of the disk's capacity`,
      value: (100 * walMBps) / diskMBps,
      unit: '%',
      note: `${walMBps.toFixed(2)} MB/s, ${Math.round(walBytes / walMessages)} bytes a message`,
    }),
    above(perSecond, {
      name: `${id}: clean-up rate against production`,
      value: result.cleaned / result.cleanUpSeconds,
      unit: '/s',
      note: `${result.cleaned} messages in ${result.cleanUpSeconds.toFixed(2)} s, by dropping partitions`,
    }),
    below(CLAIM_MS * noise, {
      name: `${id}: claim p95 on the server`,
      value: claims.p95,
      unit: 'ms',
      note:
        `of ${claims.count} sampled claims; limit ${CLAIM_MS} ms × ${noise.toFixed(1)}, by which the machine lengthened a statement of fixed work ` +
        `(p95 ${fixedWork.p95.toFixed(2)} ms, least ${fixedWork.least.toFixed(2)} ms). ${result.claimSeenP95.toFixed(1)} ms with the consumer's own queue. ` +
        "The specification's query takes a percentile of means",
    }),
  ]
}

const worstOf = (tables: readonly TableSize[]): TableSize =>
  tables.filter(isLog).reduce((worst, each) => (each.deadPercent > worst.deadPercent ? each : worst))

const kB = (bytes: number): string => `${Math.round(bytes / 1024)} kB`
const stateBytesOf = (tables: readonly TableSize[]): number =>
  tables.filter(each => !isLog(each)).reduce((sum, { bytes }) => sum + bytes, 0)

const share = (groups: number, processes: number, index: number) =>
  Array.from({ length: groups }, (_, number) => number)
    .filter(number => number % processes === index)
    .map(number => ({ topic: TOPIC, group: `group-${number}`, batchSize: 1_000 }))
