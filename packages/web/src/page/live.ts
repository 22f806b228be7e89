import { computed, effect, signal } from '@preact/signals'
import { now, setServerTime } from './clock.ts'
import { get, loggedOut } from './http.ts'
import { tell } from './notices.ts'
import { session } from './session.ts'
import type { GroupLive, Overview, TopicLive } from './shapes.ts'

/**
 * After this long without an event the page shows that it is disconnected. The server sends `live` at least every 2 s.
 */
const SILENT_MS = 5_000
/** A stream that is not open by then is tried anew. */
const OPEN_MS = 10_000
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000]
/** A browser allows six connections per host on HTTP/1.1, so a hidden tab closes its stream. */
const HIDDEN_MS = 10_000

/** Everything that the overview shows, kept current by the stream. */
export const overview = signal<Overview | undefined>(undefined)
/** Frozen by the key `l`: the stream continues, the page stands still and counts what it misses. */
export const frozen = signal(false)
export const missedWhileFrozen = signal(0)

const lastSign = signal(0)
const retryAt = signal(0)
const isConnected = signal(false)
const isHidden = signal(false)
/** Incremented when events were lost, and when the server is back: loaded data is loaded again. */
export const refreshed = signal(0)
/** The server has another page than this one: it is of another version, or of another checkout. */
export const isOutdated = signal(false)

type Connection = {
  readonly state: 'connecting' | 'live' | 'lost' | 'hidden'
  readonly lastAt: number
  readonly retryInMs: number
}

export const connection = computed<Connection>(() => {
  const isSilent = now.value - lastSign.value > SILENT_MS
  const state = isHidden.value ? 'hidden' : lastSign.value === 0 ? 'connecting' : isSilent ? 'lost' : 'live'
  return { state, lastAt: lastSign.value, retryInMs: Math.max(0, retryAt.value - now.value) }
})

/** Writes require a responding server. */
export const isLive = computed(() => connection.value.state === 'live')

type Handler = (data: never) => void
const handlers = new Map<string, Set<Handler>>()

/** Calls the handler once per event, in the frame in which it is drawn; the returned function removes it. */
export function on<T>(event: string, handler: (data: T) => void): () => void {
  const all = handlers.get(event) ?? new Set()
  if (!handlers.has(event)) source?.addEventListener(event, heard)
  handlers.set(event, all.add(handler as Handler))
  return () => all.delete(handler as Handler)
}

/** What the stream reports in detail, such as `topic:orders` or `run:<id>`, with the number of requesters. */
const details = new Map<string, number>()

/** Requests details until the returned function is called. The stream is reopened, and continues where it was. */
export function watchInDetail(what: string): () => void {
  details.set(what, (details.get(what) ?? 0) + 1)
  if (details.get(what) === 1) reopen()
  return () => {
    const left = (details.get(what) ?? 1) - 1
    if (left > 0) details.set(what, left)
    else if (details.delete(what)) reopen()
  }
}

/** Changing the screen changes the details twice: the stream is reopened once, afterwards. */
function reopen(): void {
  clearTimeout(reopening)
  reopening = setTimeout(() => {
    if (isConnected.peek()) connect()
  })
}

/** Freezes the page, or continues with fresh figures. */
export function toggleFrozen(): void {
  frozen.value = !frozen.value
  missedWhileFrozen.value = 0
  if (frozen.value) return
  // Changes in the meantime were only sent once: a new stream begins with a snapshot.
  refreshed.value++
  reopen()
}

let source: EventSource | undefined
let attempt = 0
let timer = 0
let reopening = 0
let wasHidden = false
/** Where the stream stopped; a new one continues from there. */
let lastEventId = ''
/** Pending changes, drawn once per frame. */
let waiting: (() => void)[] = []

function heard(event: MessageEvent<string>): void {
  if (event.type === 'hello') greeted(JSON.parse(event.data) as Hello)
  lastSign.value = Date.now()
  if (event.lastEventId !== '') lastEventId = event.lastEventId
  if (frozen.value) {
    missedWhileFrozen.value++
    return
  }
  const data = JSON.parse(event.data) as never
  if (waiting.length === 0) requestAnimationFrame(flush)
  waiting.push(() => {
    for (const handler of handlers.get(event.type) ?? []) handler(data)
  })
}

let version: string | undefined
/** Of the files that this page is made of. */
const page = document.querySelector<HTMLMetaElement>('meta[name=tidemark-page]')?.content

type Hello = { readonly version: string; readonly page?: string | null; readonly at: string }

/** The stream is open: the server says who it is. Handled at once, so that a page that shows "live" knows its server. */
function greeted(hello: Hello): void {
  clearTimeout(timer)
  const awayMs = Date.now() - lastSign.peek()
  if (lastSign.peek() > 0 && awayMs > SILENT_MS) {
    if (!wasHidden) tell(`Back after ${Math.round(awayMs / 1000)} s.`)
    refreshed.value++
  }
  attempt = 0
  wasHidden = false
  setServerTime(hello.at)
  version ??= hello.version
  isOutdated.value = version !== hello.version || (typeof hello.page === 'string' && hello.page !== page)
  // Before it counts as connected: a stream that is connected and silent is given up.
  lastSign.value = Date.now()
  isConnected.value = true
}

function flush(): void {
  const changes = waiting
  waiting = []
  for (const change of changes) change()
}

function connect(): void {
  disconnect()
  const url = new URL('/api/v1/events', location.href)
  // Only a browser's own reconnect sends the header, and that gives up after an error response.
  if (lastEventId !== '') url.searchParams.set('after', lastEventId)
  if (page) url.searchParams.set('page', page)
  if (details.size > 0) url.searchParams.set('detail', [...details.keys()].join())
  const opened = new EventSource(url)
  source = opened
  // A host that has vanished answers nothing, not even with an error.
  timer = setTimeout(lose, OPEN_MS)
  for (const event of ['hello', ...handlers.keys()]) opened.addEventListener(event, heard)
  // A browser gives up for ever after an error response, so the page closes and reopens the stream itself.
  opened.onerror = () => lose()
}

function lose(): void {
  disconnect()
  const wait = WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)] ?? 15_000
  attempt++
  retryAt.value = Date.now() + wait
  timer = setTimeout(connect, wait)
  // An expired session looks like a lost stream: this request tells which it is.
  fetch('/api/v1/session')
    .then(answer => {
      if (answer.status === 401) loggedOut.value++
    })
    .catch(() => undefined)
}

function disconnect(): void {
  clearTimeout(timer)
  source?.close()
  source = undefined
  isConnected.value = false
}

/** An open but silent stream is as good as none. */
effect(() => {
  if (isConnected.value && now.value - lastSign.value > SILENT_MS) lose()
})

const retryNow = (): void => {
  if (session.peek() && !isConnected.peek() && !isHidden.peek()) connect()
}
addEventListener('online', retryNow)
addEventListener('focus', retryNow)

let hiding = 0
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding)
  if (document.visibilityState === 'hidden') {
    hiding = setTimeout(() => {
      isHidden.value = true
      disconnect()
    }, HIDDEN_MS)
    return
  }
  now.value = Date.now()
  if (!isHidden.peek()) return
  wasHidden = true
  isHidden.value = false
  connect()
})

/** A login opens the stream, a logout closes it. */
effect(() => {
  if (session.value) connect()
  else disconnect()
})

/** The last id is too old, or from another server. A snapshot arrives by itself; other data is loaded again. */
on<unknown>('missed', () => {
  refreshed.value++
})

on<Overview>('snapshot', snapshot => {
  setServerTime(snapshot.at)
  overview.value = snapshot
})

/** A run grows: of the newest one, the overview shows it. */
on<{ runId: string; live: boolean; tick: number; alive: number | null }>('run', ({ runId, live, tick, alive }) => {
  const before = overview.peek()
  if (before === undefined) return
  const run = before.newestRun
  if (run === null || runId > run.runId) void askForNewestRun(runId)
  if (run?.runId !== runId) return
  const ticks = run.ticks === null ? { first: tick, last: tick, count: 1 } : { ...run.ticks, last: tick }
  overview.value = { ...before, newestRun: { ...run, live, ticks, alive: alive ?? run.alive } }
})

/** Runs whose facts were requested because the snapshot did not have them: it came before the run's first look. */
const requestedRuns = new Set<string>()

async function askForNewestRun(runId: string): Promise<void> {
  if (requestedRuns.has(runId)) return
  requestedRuns.add(runId)
  const answer = await get<Overview>('/overview').catch(() => undefined)
  const before = overview.peek()
  if (answer !== undefined && before !== undefined) overview.value = { ...before, newestRun: answer.newestRun }
  else requestedRuns.delete(runId)
}

/** Only what has changed, as rows of numbers. */
type Live = {
  readonly at: string
  readonly topics: {
    readonly [topic: string]: readonly [last: number | null, perSecond: number, kept: number, lag: number, dead: number]
  }
  readonly groups: {
    readonly [topicAndGroup: string]: readonly [
      cursor: number,
      lag: number,
      lagMs: number,
      inFlight: number,
      retries: number,
      dead: number,
      perSecond: number,
      heartbeatMs: number,
    ]
  }
  readonly edges: readonly (readonly [perSecond: number | null, backlog: number, fill: number | null])[]
  readonly attention?: Overview['attention']
}

on<Live>('live', ({ at, topics, groups, edges, attention }) => {
  setServerTime(at)
  const before = overview.peek()
  if (before === undefined) return
  const pipeline = before.pipeline && {
    ...before.pipeline,
    edges: before.pipeline.edges.map((edge, index) => {
      const [perSecond, backlog, fill] = edges[index] ?? [edge.perSecond, edge.backlog, edge.fill]
      return { ...edge, perSecond, backlog, fill }
    }),
  }
  overview.value = {
    ...before,
    at,
    pipeline,
    attention: attention ?? before.attention,
    topics: before.topics.map(topic => changed(topic, topics, groups)),
  }
})

function changed(topic: TopicLive, topics: Live['topics'], groups: Live['groups']): TopicLive {
  const row = topics[topic.topic]
  const figures = row && { last: row[0], publishedPerSecond: row[1], kept: row[2] }
  return {
    ...topic,
    ...figures,
    ...(row && { totals: { ...topic.totals, lagMessages: row[3], deadLetters: row[4] } }),
    groups: topic.groups.map(each => changedGroup(topic.topic, each, groups)),
  }
}

function changedGroup(topic: string, group: GroupLive, groups: Live['groups']): GroupLive {
  const row = groups[`${topic}/${group.group}`]
  if (row === undefined) return group
  const [cursor, lagMessages, lagMs, inFlight, retries, deadLetters, consumedPerSecond, sinceHeartbeatMs] = row
  return { ...group, cursor, lagMessages, lagMs, inFlight, retries, deadLetters, consumedPerSecond, sinceHeartbeatMs }
}

/** One topic of the overview. */
export const topicNamed = (name: string): TopicLive | undefined =>
  overview.value?.topics.find(({ topic }) => topic === name)
