/**
 * One run: start the processes, break things by the schedule, heal, drain, and check.
 *
 *   place ─▶ processes ─▶ faults, two lanes ─▶ publishers stop ─▶ groups drain ─▶ processes stop ─▶ violations
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Tidemark } from 'tidemark'
import { createFolder, removeFolder } from '../folders.ts'
import { SeededRandom } from '../seeded-random.ts'
import { unwatchFolder } from '../watchdog.ts'
import { findViolations } from './check/check.ts'
import { type FinalGroup, type History, historyOf } from './check/history.ts'
import type { Violation } from './check/violation.ts'
import { drain } from './drain.ts'
import type { Fault, Scene } from './faults/fault.ts'
import { DOOMED_POSTS, Fleet, POSTS } from './fleet.ts'
import { type EndedEntry, Journal, readJournals, type Stamped } from './journal.ts'
import { openNamespace } from './open-namespace.ts'
import { PathWatch } from './path-counts.ts'
import { createPlace, type Place } from './place.ts'
import { countPaths, type PathCounts, RARE_PATHS, type RarePath } from './rare-paths.ts'
import { type Event, scheduleOf } from './schedule.ts'
import { SILENT } from './silent.ts'
import { DOOMED, DOOMED_TOPICS, type Engine, fullName, MAX_ATTEMPTS, TOPICS } from './world.ts'

export type RunOptions = {
  readonly engine: Engine
  readonly seed: number
  readonly seconds: number
  readonly faults: readonly Fault[]
  /** Only these events of the schedule. */
  readonly events?: readonly number[]
  readonly signal: AbortSignal
  /** Told what happens, for the progress line. */
  readonly onProgress: (text: string) => void
}

export type RunResult = {
  readonly engine: Engine
  readonly seed: number
  readonly seconds: number
  readonly events: readonly {
    readonly number: number
    readonly at: number
    readonly fault: string
    readonly done: boolean
  }[]
  /** Faults that this machine can't have, with the reason. */
  readonly missing: readonly string[]
  readonly violations: readonly Violation[]
  readonly paths: PathCounts
  /** Paths that should have run and did not: the run doesn't count. */
  readonly unreached: readonly RarePath[]
  readonly totals: {
    readonly published: number
    readonly deliveries: number
    readonly acks: number
    readonly kills: number
  }
  /** Lines of the journals about a message. */
  readonly historyOf: (key: string) => string[]
}

/** Of a fault whose rare path didn't run. */
const MOST_ATTEMPTS = 3

const ORDERED = [{ topic: fullName('default', 'orders'), group: 'ledger' }]

export async function runOnce(options: RunOptions): Promise<RunResult> {
  const { engine, seed, onProgress } = options
  const random = new SeededRandom(seed)
  const journals = createFolder('tidemark-chaos')
  try {
    const journal = new Journal(journals, 'run')
    onProgress('starting')
    await using place = await createPlace(engine)
    await using fleet = new Fleet({ engine, url: place.url, journals }, journal, () => random.below(0x7fff_ffff))
    const scene: Scene = { place, fleet, journal, paths: new PathWatch(journals) }
    const missing = options.faults.flatMap(fault => {
      const why = fault.missing?.(scene)
      return why === undefined ? [] : [{ fault, why }]
    })
    const possible = options.faults.filter(fault => !missing.some(each => each.fault === fault))
    const schedule = scheduleOf(seed, options.seconds * 1_000, possible)
    const wanted = schedule.filter(({ number }) => options.events?.includes(number) ?? true)
    await prepare(place)
    fleet.start(POSTS)
    await unlessAborted(fleet.ready(), options.signal)
    const done = await unlessAborted(breakThings(scene, wanted, options), options.signal)
    const end = await unlessAborted(finish(scene, options), options.signal)
    const entries = readJournals(journals)
    const history = historyOf(entries, { groups: end.groups, maxAttempts: MAX_ATTEMPTS, ordered: ORDERED })
    const violations = [...end.violations, ...findEnded(entries), ...findViolations(history)]
    const paths = countPaths(entries)
    return {
      ...{ engine, seed, seconds: options.seconds, violations, paths },
      events: wanted.map(event => ({
        number: event.number,
        at: event.at,
        fault: event.fault.name,
        done: done.has(event),
      })),
      missing: missing.map(({ fault, why }) => `${fault.name}: ${why}`),
      unreached: unreachedIn(paths, [...done]),
      totals: totalsOf(history, fleet.kills),
      historyOf: key => linesAbout(entries, history, key),
    }
  } finally {
    if (process.env.TIDEMARK_KEEP === '1') {
      // The watchdog would remove it when this process ends.
      unwatchFolder(journals)
      console.error(`Kept ${journals}`)
    } else removeFolder(journals)
  }
}

/** Ctrl-C waits for nothing: not for a fault, and not for a process that hangs. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Subscribes every group, so that each publish of the run is for all of them. */
async function prepare({ engine, directUrl }: Place): Promise<void> {
  const options = { logger: SILENT, maintenance: false, autoCreate: false }
  await using tm = await openNamespace(engine, directUrl, options)
  for (const [topic, { options, groups }] of Object.entries(TOPICS)) {
    await tm.configureTopic(topic, options)
    for (const group of groups) {
      await using reader = tm.reader(topic, { ...(group !== '' && { group }), from: 'beginning' })
      await reader.ready()
    }
  }
}

async function breakThings(scene: Scene, schedule: readonly Event[], options: RunOptions): Promise<Set<Event>> {
  const start = performance.now()
  const end = start + options.seconds * 1_000
  const done = new Set<Event>()
  const inLane = async (lane: Fault['lane']): Promise<void> => {
    for (const event of schedule.filter(({ fault }) => fault.lane === lane)) {
      await delay(Math.max(0, start + event.at - performance.now()), undefined, { signal: options.signal })
      // On a slow machine faults take longer; each still comes once.
      const isRepeated = [...done].some(({ fault }) => fault === event.fault)
      if (performance.now() > end && isRepeated) continue
      options.onProgress(`#${event.number} ${event.fault.name}`)
      await event.fault.inject(scene, new SeededRandom(event.seed))
      done.add(event)
    }
  }
  await Promise.all([
    inLane('processes'),
    inLane('database'),
    delay(options.seconds * 1_000, undefined, { signal: options.signal }),
  ])
  await reachTheRest(scene, done, options)
  return done
}

/** On a busy machine the faults of the other lane may have been in the way of a rare path each time. Now they are over. */
async function reachTheRest(scene: Scene, done: ReadonlySet<Event>, { signal, onProgress }: RunOptions): Promise<void> {
  const isUnreached = ({ fault }: Event): boolean => fault.reaches.some(path => scene.paths.count(path) === 0)
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    for (const event of done) {
      if (!isUnreached(event)) continue
      signal.throwIfAborted()
      onProgress(`#${event.number} ${event.fault.name}, once more`)
      await scene.fleet.ready()
      await event.fault.inject(scene, new SeededRandom(event.seed + attempt))
    }
  }
}

type End = { readonly groups: readonly FinalGroup[]; readonly violations: readonly Violation[] }

/** Invariant 10: once the faults are over, everything drains and everybody stops when asked. */
async function finish({ fleet, place }: Scene, { onProgress, signal }: RunOptions): Promise<End> {
  onProgress('publishers stop')
  const first = ['operator', 'publisher-1', 'publisher-2', 'doomed-publisher']
  const late = await fleet.stop(first)
  signal.throwIfAborted()
  const violations: Violation[] = []
  const groups: FinalGroup[] = []
  const spaces = [
    { namespace: 'default', topics: TOPICS },
    ...(fleet.names.includes('doomed-group') ? [{ namespace: DOOMED, topics: DOOMED_TOPICS }] : []),
  ]
  for (const { namespace, topics } of spaces) {
    const options = { namespace, logger: SILENT, maintenance: false }
    await using tm = await openNamespace(place.engine, place.directUrl, options)
    onProgress('groups drain')
    violations.push(...(await drain(tm, Object.keys(topics), signal)))
    for (const topic of Object.keys(topics)) {
      for (const { group } of (await tm.admin.describeTopic(topic)).groups) {
        groups.push({ topic: fullName(namespace, topic), group, deadLetters: await deadLettersOf(tm, topic, group) })
      }
    }
    const { inconsistencies } = await tm.admin.health()
    for (const { topic, what } of inconsistencies)
      violations.push({ rule: 'inconsistent', what: `${namespace}/${topic}: ${what}` })
  }
  onProgress('processes stop')
  late.push(...(await fleet.stop([...POSTS, ...DOOMED_POSTS].map(({ name }) => name))))
  for (const name of late)
    violations.push({ rule: 'stuck', what: `${name} did not stop within ten minutes of being asked to` })
  return { groups, violations }
}

async function deadLettersOf(tm: Tidemark, topic: string, group: string): Promise<FinalGroup['deadLetters'][number][]> {
  const letters = []
  for (let after: number | null = 0; after !== null; ) {
    const page = await tm.admin.deadLetterPage(topic, { ...(group !== '' && { group }), after, limit: 1_000 })
    letters.push(...page.deadLetters)
    after = page.next
  }
  return letters.map(({ messageId, payload, attempts }) => ({
    ...{ messageId, attempts },
    key: (JSON.parse(String(payload)) as { key: string }).key,
  }))
}

const findEnded = (entries: readonly Stamped[]): Violation[] =>
  entries
    .filter((entry): entry is Stamped<EndedEntry> => entry.what === 'ended')
    .map(({ name, why }) => ({ rule: 'process ended', what: `${name} ${why}` }))

/** Bad messages are in every run; the other paths belong to faults. */
function unreachedIn(paths: PathCounts, done: readonly Event[]): RarePath[] {
  const expected = new Set<RarePath>(['dead letters', ...done.flatMap(({ fault }) => fault.reaches)])
  return RARE_PATHS.filter(path => expected.has(path) && (paths[path] ?? 0) === 0)
}

const totalsOf = ({ publishes, stories }: History, kills: number): RunResult['totals'] => ({
  published: publishes.filter(({ outcome }) => outcome === 'ok').length,
  deliveries: stories.reduce((sum, story) => sum + story.deliveries.length, 0),
  acks: stories.reduce(
    (sum, story) => sum + story.settlements.filter(({ what, outcome }) => what === 'ack' && outcome === 'ok').length,
    0,
  ),
  kills,
})

/** Everything about the message, and whatever may have had an influence on all messages. */
function linesAbout(entries: readonly Stamped[], history: History, key: string): string[] {
  const topics = new Set(history.publishes.filter(each => each.key === key).map(({ topic }) => topic))
  const about = entries.filter(entry => {
    if ('key' in entry) return entry.key === key
    if ('keys' in entry) return entry.keys.includes(key)
    if (entry.what === 'operate')
      return topics.has(entry.topic) && entry.phase !== 'invoked' && entry.phase !== 'failed'
    return entry.what === 'loss' || entry.what === 'crash'
  })
  const start = entries[0]?.at ?? 0
  return about.map(({ at, pid, ...entry }) => {
    const { keys: _, ...rest } = entry as { keys?: unknown }
    return `${((at - start) / 1e9).toFixed(3).padStart(8)} s  ${String(pid).padStart(7)}  ${JSON.stringify(rest)}`
  })
}
