/** What people and programs are told: metrics, health, lag, pages of messages, outages. */
import type { Area, Mutant } from '../mutant.ts'

const TOPICS = 'packages/topics/src'
const ADMIN = `${TOPICS}/admin`
const METRICS = `${TOPICS}/observe/metrics`

const metrics: Mutant[] = [
  {
    name: 'a minute is subtracted again at every turn of the meter',
    file: `${METRICS}/meter.ts`,
    find: '        this.#ring[slot] = 0\n',
    replace: '',
    tests: ['unit/metrics'],
  },
  {
    name: 'a meter that slept for minutes keeps its rate',
    file: `${METRICS}/meter.ts`,
    find: 'const steps = Math.min(BUCKETS, second - this.#second)',
    replace: 'const steps = Math.min(BUCKETS - 1, second - this.#second)',
    tests: ['unit/metrics'],
  },
  {
    name: 'a rate of the first seconds is that of a whole minute',
    file: `${METRICS}/meter.ts`,
    find: 'Math.min(BUCKETS, Math.max(1, second - this.#startedAt))',
    replace: 'BUCKETS',
    tests: ['unit/metrics'],
  },
  {
    name: 'a percentile is that of the next measurement',
    file: `${METRICS}/histogram.ts`,
    find: 'while (found.length < wanted.length && seen >= (wanted',
    replace: 'while (found.length < wanted.length && seen > (wanted',
    tests: ['unit/metrics'],
  },
  {
    name: 'a percentile exceeds the maximum',
    file: `${METRICS}/histogram.ts`,
    find: 'const edge = Math.min(this.#max, 2 ** ((index + 1) / PER_DOUBLING) / 1_000)',
    replace: 'const edge = 2 ** ((index + 1) / PER_DOUBLING) / 1_000',
    tests: ['unit/metrics'],
  },
  {
    name: 'a merged histogram loses its maximum',
    file: `${METRICS}/histogram.ts`,
    find: '    this.#max = Math.max(this.#max, max)\n',
    replace: '    void max\n',
    tests: ['unit/metrics', 'conformance/figures'],
  },
  {
    name: 'handlers that took long together count as quick',
    file: `${METRICS}/consumer-meter.ts`,
    find: 'if (togetherMs >= QUICK_MS) {',
    replace: 'if (togetherMs < 0) {',
    tests: ['unit/metrics', 'conformance/figures'],
  },
  {
    name: 'a rate does not age',
    file: `${METRICS}/scope.ts`,
    find: 'else if (isAging) this.#snapshot',
    replace: 'else if (isAging && second < 0) this.#snapshot',
    tests: ['unit/metrics'],
  },
  {
    name: 'a topic that is made again is not counted for a minute',
    file: `${METRICS}/metrics.ts`,
    find: '    if (REVIVING.has(name)) for (const key of keys) this.#gone.delete(key)\n',
    replace: '',
    tests: ['unit/metrics', 'conformance/metrics'],
  },
  {
    name: 'the last events of a deleted topic bring its metrics back',
    file: `${METRICS}/metrics.ts`,
    find: 'if (topic === undefined || (this.#gone.size > 0 && this.#isGone(name, topic, group))) return',
    replace: 'if (topic === undefined) return',
    tests: ['unit/metrics', 'conformance/metrics'],
  },
  {
    name: 'a group with consumers is forgotten because a read missed it',
    file: `${METRICS}/metrics.ts`,
    find: 'createdAt < asked && consumers.size === 0) this.forgetGroup',
    replace: 'createdAt < asked) this.forgetGroup',
    tests: ['unit/metrics', 'conformance/metrics'],
  },
  {
    name: 'a group that was made after a read is forgotten by it',
    file: `${METRICS}/metrics.ts`,
    find: 'createdAt < asked && consumers.size === 0) this.forgetGroup',
    replace: 'consumers.size === 0) this.forgetGroup',
    tests: ['unit/metrics', 'conformance/metrics'],
  },
]

const health: Mutant[] = [
  {
    name: 'a paused group comes near its timeout',
    file: `${ADMIN}/group-health.ts`,
    find: "topic.config.semantics === 'pub-sub' && status === 'ACTIVE'",
    replace: "topic.config.semantics === 'pub-sub'",
    tests: ['conformance/admin-health', 'conformance/admin-groups'],
  },
  {
    name: 'the group of a queue comes near its timeout',
    file: `${ADMIN}/group-health.ts`,
    find: "topic.config.semantics === 'pub-sub' && status === 'ACTIVE'",
    replace: "status === 'ACTIVE'",
    tests: ['conformance/admin-health', 'conformance/admin-groups'],
  },
  {
    name: 'a group with missed heartbeats is healthy',
    file: `${ADMIN}/group-health.ts`,
    find: ' && heartbeat.misses === 0',
    replace: '',
    tests: ['conformance/admin-health', 'conformance/admin-groups', 'conformance/heartbeats'],
  },
  {
    name: 'a group whose claims fail is healthy',
    file: `${ADMIN}/group-health.ts`,
    find: ' && (vitals?.failingSince ?? null) === null',
    replace: '',
    tests: ['conformance/admin-health', 'conformance/admin-groups', 'conformance/outages'],
  },
  {
    name: 'an acknowledged loss is told again',
    file: `${ADMIN}/group-health.ts`,
    find: 'unacknowledgedLoss: group.lost - group.lostAcknowledged',
    replace: 'unacknowledgedLoss: group.lost',
    tests: ['conformance/admin-health', 'conformance/admin-groups', 'conformance/forced-cap'],
  },
  {
    name: 'a group without work has its old watermark',
    file: `${ADMIN}/group-health.ts`,
    find: 'return Number(backlog + inFlight + retries === 0 || watermark > cursor ? cursor : watermark)',
    replace: 'return Number(watermark > cursor ? cursor : watermark)',
    tests: ['conformance/admin-groups', 'conformance/lag', 'conformance/admin-health'],
  },
  {
    name: 'claims fail since the last failure, not the first',
    file: `${TOPICS}/consume/vitals.ts`,
    find: 'vital.failingSince ??= since',
    replace: 'vital.failingSince = since',
    tests: ['conformance/outages', 'conformance/admin-health', 'conformance/admin-groups'],
  },
  {
    name: 'a group is forgotten when the first of its readers leaves',
    file: `${TOPICS}/consume/vitals.ts`,
    find: '      if (--vital.users > 0) return\n',
    replace: '      vital.users--\n',
    tests: ['conformance/outages', 'conformance/admin-health', 'conformance/admin-groups'],
  },
  {
    name: 'a claim without an answer is no failure',
    file: `${TOPICS}/consume/vitals.ts`,
    find: 'if (failingSince !== null || !isSilent)',
    replace: 'if (failingSince !== null || oldest !== undefined)',
    tests: ['postgres/silence', 'server/test/silence'],
  },
]

const outages: Mutant[] = [
  {
    name: 'an answer does not end an outage of the connection',
    file: `${TOPICS}/observe/outages.ts`,
    find: "    this.#open.get('connection')?.failing.clear()\n",
    replace: '',
    tests: ['conformance/outages', 'conformance/admin-health'],
  },
  {
    name: 'a success ends the outage of another topic',
    file: `${TOPICS}/observe/outages.ts`,
    find: 'for (const key of keys) failing?.delete(key)',
    replace: 'if (keys.length > 0) failing?.clear()',
    tests: ['conformance/outages'],
  },
  {
    name: 'an outage shows its first error for ever',
    file: `${TOPICS}/observe/outages.ts`,
    find: '    outage.error = describeFailure(thrown)\n',
    replace: '',
    tests: ['conformance/outages'],
  },
  {
    name: 'a clock that is off is reported at every look',
    file: `${TOPICS}/maintenance/clock-watch.ts`,
    find: 'if (isOff !== this.#isOff) this.#instrumentation',
    replace: 'if (isOff || this.#isOff) this.#instrumentation',
    tests: ['sqlite/clock', 'conformance/clock-skew'],
  },
  {
    name: 'messages are removed by age although the clock has only just been corrected',
    file: `${TOPICS}/maintenance/clock-watch.ts`,
    find: '(!reading.isOff && reading.trialMs === 0)',
    replace: '!reading.isOff',
    tests: ['sqlite/clock', 'conformance/clock-skew'],
  },
]

const stats: Mutant[] = [
  {
    name: 'a new topic has no storage figures',
    file: `${ADMIN}/stats.ts`,
    find: 'return !withStorage && record.topics.some(isNew) ?',
    replace: 'return !withStorage && record.topics.every(isNew) ?',
    tests: ['conformance/stats', 'conformance/figures', 'server/test/monitoring'],
  },
  {
    name: 'figures without storage make the known storage figures new',
    file: `${ADMIN}/stats.ts`,
    find: 'if (record.topics.every(({ storage }) => storage !== null)) this.#storage',
    replace: 'this.#storage',
    tests: ['conformance/stats', 'conformance/figures', 'server/test/monitoring'],
  },
  {
    name: 'everybody who asks for figures reads them',
    file: `${ADMIN}/stats.ts`,
    find: 'this.#reading ??= this',
    replace: 'this.#reading = this',
    tests: ['conformance/stats', 'conformance/figures', 'server/test/monitoring'],
  },
  {
    name: 'an empty topic has an oldest message',
    file: `${ADMIN}/stats.ts`,
    find: 'oldestAt: retained === 0 ? null : toDate(oldestAt)',
    replace: 'oldestAt: toDate(oldestAt)',
    tests: ['conformance/stats', 'conformance/figures', 'server/test/monitoring'],
  },
  {
    name: 'metrics of what other processes deleted stay',
    file: `${ADMIN}/stats.ts`,
    find: '    this.#runtime.instrumentation.metrics.keepOnly(existing, readAt)\n',
    replace: '    void existing\n',
    tests: ['conformance/stats', 'conformance/figures', 'conformance/metrics'],
  },
]

const pages: Mutant[] = [
  {
    name: 'the place of a removed message is that of the message that has its id now',
    file: `${ADMIN}/browse.ts`,
    find: 'if (id === undefined || (await isTaken(runtime, topic, id))) throw',
    replace: 'if (id === undefined) throw',
    tests: ['conformance/admin-messages', 'conformance/incarnation-verbs', 'conformance/message-identity'],
  },
  {
    name: 'a search that was aborted returns what it has',
    file: `${ADMIN}/browse.ts`,
    find: '  signal?.throwIfAborted()\n',
    replace: '',
    tests: ['conformance/admin-messages'],
  },
  {
    name: 'a page passes over a message that did not fit',
    file: `${TOPICS}/stores/browse-steps.ts`,
    find: '    if (found.isCut && last === undefined) break\n',
    replace: '',
    tests: ['conformance/admin-messages', 'conformance/byte-bounds', 'conformance/large-pages'],
  },
  {
    name: 'newest first reads below its lower bound',
    file: `${TOPICS}/stores/browse-steps.ts`,
    find: 'low: Math.max(left.low, left.high - BROWSE_STEP + 1)',
    replace: 'low: left.high - BROWSE_STEP + 1',
    tests: ['conformance/admin-messages', 'conformance/byte-bounds'],
  },
  {
    name: 'an empty page is followed by another one',
    file: `${TOPICS}/stores/browse-steps.ts`,
    find: 'next: isDone ? null :',
    replace: 'next: isDone && messages.length > 0 ? null :',
    tests: ['conformance/admin-messages', 'conformance/byte-bounds'],
  },
  {
    name: 'a search of many messages goes beyond its most',
    file: `${TOPICS}/stores/browse-steps.ts`,
    find: 'count < MOST_BROWSED && left',
    replace: 'count >= 0 && left',
    tests: ['conformance/admin-messages', 'conformance/large-pages', 'sqlite/admin', 'postgres/admin'],
  },
  {
    name: 'a tail of a deleted topic reports the database',
    file: `${ADMIN}/tail.ts`,
    find: 'throw now?.uid === topic.uid ? error : new TopicNotFoundError(topic.name)',
    replace: 'throw now === null ? new TopicNotFoundError(topic.name) : error',
    tests: ['conformance/admin-messages', 'conformance/incarnation-verbs', 'conformance/incarnations'],
  },
  {
    name: 'a tail survives close()',
    file: `${ADMIN}/tail.ts`,
    find: '  runtime.started.add(running)\n',
    replace: '',
    tests: ['conformance/admin-messages', 'conformance/opening'],
  },
  {
    name: 'a tail shows what it had read after its end',
    file: `${ADMIN}/tail.ts`,
    find: '        if (stopped) return\n',
    replace: '',
    tests: ['conformance/admin-messages'],
  },
  {
    name: 'a page of claims that is full is the last',
    file: `${ADMIN}/claims.ts`,
    find: 'next: found.length > limit && last !== undefined',
    replace: 'next: found.length > limit + 1 && last !== undefined',
    tests: ['conformance/admin-findings', 'conformance/admin-groups', 'server/test/lists', 'conformance/consumers'],
  },
  {
    name: 'a released claim keeps its place among suspects',
    file: `${ADMIN}/claims.ts`,
    find: '  runtime.isolation.settled(released.token)\n',
    replace: '',
    tests: ['conformance/suspects', 'conformance/poison', 'conformance/operating', 'conformance/consumers'],
  },
  {
    name: 'a released message waits for the next look',
    file: `${ADMIN}/claims.ts`,
    find: '  runtime.wakeHub.wake(topic.id)\n  runtime.store.hint(topic.id)\n',
    replace: '',
    tests: ['conformance/operating', 'conformance/wake-ups', 'conformance/consumers'],
  },
]

export const FIGURES: Area = { name: 'figures', mutants: [...metrics, ...health, ...outages, ...stats, ...pages] }
