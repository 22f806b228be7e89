/** What a process keeps beside the database: caches, wake-ups, partitions made ahead, the groups it pulls for. */
import type { Area, Mutant } from '../mutant.ts'

const TOPICS = 'packages/topics/src'
const CONSUME = `${TOPICS}/consume`
const POSTGRES = `${TOPICS}/stores/postgres`

const rows: Mutant[] = [
  {
    name: 'a fetched row does not replace another row with its id',
    file: `${TOPICS}/stores/row-cache.ts`,
    find: 'if (kept !== undefined && isSameRow(kept, row)) return kept',
    replace: 'if (kept !== undefined) return kept',
    tests: ['unit/row-cache'],
  },
  {
    name: 'a replaced row keeps its bytes in the cache',
    file: `${TOPICS}/stores/row-cache.ts`,
    find: 'const bytes = rawMessageBytes(row) - (kept === undefined ? 0 : rawMessageBytes(kept))',
    replace: 'const bytes = rawMessageBytes(row)',
    tests: ['unit/row-cache'],
  },
  {
    name: 'dropped rows keep their bytes in the cache',
    file: `${TOPICS}/stores/row-cache.ts`,
    find: '      this.#chunks.delete(number)\n      this.#bytes -= chunk.bytes\n    }\n  }\n\n  clear',
    replace: '      this.#chunks.delete(number)\n    }\n  }\n\n  clear',
    tests: ['unit/row-cache', 'unit/shared-row-cache'],
  },
  {
    name: 'rows that the slowest group has not read are dropped',
    file: `${TOPICS}/stores/row-cache.ts`,
    find: 'if (number >= first) continue',
    replace: 'if (number > first) continue',
    tests: ['unit/row-cache', 'unit/shared-row-cache'],
  },
  {
    name: 'the newest row of the cache is the one read last',
    file: `${TOPICS}/stores/row-cache.ts`,
    find: 'if (row.id >= (this.#newest?.id ?? 0)) this.#newest = row',
    replace: 'this.#newest = row',
    tests: ['unit/row-cache', 'sqlite/restored', 'sqlite/replaced-file'],
  },
  {
    name: 'a cached row of another transaction is delivered',
    file: `${POSTGRES}/row-cache.ts`,
    find: 'if (row === undefined || row.xid !== xids[index]) return undefined',
    replace: 'if (row === undefined) return undefined',
    tests: ['unit/shared-row-cache'],
  },
  {
    name: 'cached rows of another life of the server are delivered',
    file: `${POSTGRES}/row-cache.ts`,
    find: 'if (topic?.server !== server) return undefined',
    replace: 'if (topic === undefined) return undefined',
    tests: ['unit/shared-row-cache'],
  },
  {
    name: 'rows of another life of the server stay in the cache',
    file: `${POSTGRES}/row-cache.ts`,
    find: '    if (topic?.server !== server) {\n      topic = {',
    replace: '    if (topic === undefined) {\n      topic = {',
    tests: ['unit/shared-row-cache'],
  },
  {
    name: 'a page that was asked for small serves a group that asks for much',
    file: `${POSTGRES}/row-cache.ts`,
    find: 'return page?.isFull && page.messages.length < limit / 2 ? undefined : page',
    replace: 'return page',
    tests: ['unit/shared-row-cache', 'postgres/known-pages'],
  },
  {
    name: 'a shorter page replaces a longer one',
    file: `${POSTGRES}/row-cache.ts`,
    find: '    if (size <= (pages.get(place)?.messages.length ?? 0)) return\n',
    replace: '',
    tests: ['unit/shared-row-cache', 'postgres/known-pages'],
  },
  {
    name: 'a slowest group that leaves keeps rows in the cache',
    file: `${POSTGRES}/row-cache.ts`,
    find: '    if (topic !== undefined && topic.slowest === subscriptionId) topic.slowest = undefined\n',
    replace: '',
    tests: ['unit/shared-row-cache'],
  },
  {
    name: 'a lost connection keeps the cached rows',
    file: `${POSTGRES}/row-cache.ts`,
    find: '    this.#era++\n    this.#topics.clear()\n',
    replace: '    this.#era++\n',
    tests: ['unit/shared-row-cache', 'postgres/restored-data'],
  },
  {
    name: 'groups of other topics keep rows in the cache',
    file: `${POSTGRES}/row-cache.ts`,
    find: 'if (reader.topicId !== topicId || reader.lastId >= passed) continue',
    replace: 'if (reader.lastId >= passed) continue',
    tests: ['unit/shared-row-cache'],
  },
  {
    name: 'a fetch that failed is waited for at its place for ever',
    file: `${POSTGRES}/row-cache.ts`,
    find: 'if (this.#fetches.get(key) === waitedFor) this.#fetches.delete(key)',
    replace: 'void waitedFor',
    tests: ['unit/shared-row-cache'],
  },
]

const wakeUps: Mutant[] = [
  {
    name: 'a wake-up while another is sent is lost',
    file: `${POSTGRES}/wake-ups.ts`,
    find: '      this.#waiting.add(topicId)\n',
    replace: '',
    tests: ['postgres/wake-ups', 'postgres/listener'],
  },
  {
    name: 'a topic is woken only once',
    file: `${POSTGRES}/wake-ups.ts`,
    find: '    this.#sending.delete(topicId)\n',
    replace: '',
    tests: ['postgres/wake-ups', 'postgres/listener'],
  },
  {
    name: 'wake-ups are sent on a listening connection that is gone',
    file: `${POSTGRES}/wake-ups.ts`,
    find: '      if (this.#ear === ear) this.#ear = undefined\n',
    replace: '',
    tests: ['postgres/wake-ups', 'postgres/listener'],
  },
  {
    name: 'close() waits for no wake-up that is being sent',
    file: `${POSTGRES}/wake-ups.ts`,
    find: '    await Promise.all(this.#sending.values())\n',
    replace: '',
    tests: ['postgres/wake-ups', 'postgres/listener', 'postgres/opening'],
  },
]

const partitions: Mutant[] = [
  {
    name: 'maintenance makes partitions without a limit',
    file: `${POSTGRES}/partitions.ts`,
    find: 'Math.min(MOST_AHEAD * rows, Math.max(rows, 4 * drawn))',
    replace: 'Math.max(rows, 4 * drawn)',
    tests: ['postgres/partition-life', 'postgres/rights'],
  },
  {
    name: 'maintenance makes one partition however much was published',
    file: `${POSTGRES}/partitions.ts`,
    find: 'Math.min(MOST_AHEAD * rows, Math.max(rows, 4 * drawn))',
    replace: 'rows',
    tests: ['postgres/partition-life', 'postgres/rights'],
  },
  {
    name: 'a user who may not make partitions tries at every publish',
    file: `${POSTGRES}/partitions.ts`,
    find: '        if (isRefused(error)) this.#refused.set(topic.id, performance.now() + REFUSED_FOR_MS)\n',
    replace: '',
    tests: ['postgres/partition-life', 'postgres/rights'],
  },
  {
    name: 'a publish in a transaction finds no partition for its last message',
    file: `${POSTGRES}/partitions.ts`,
    find: 'if (needed >= end) throw',
    replace: 'if (needed > end + 1) throw',
    tests: ['postgres/partition-life', 'postgres/rights'],
  },
  {
    name: 'a transaction that holds the only connection makes no room',
    file: `${POSTGRES}/partitions.ts`,
    find: '    await caller.run(this.#database.sql(add), id)\n',
    replace: '',
    tests: ['postgres/caller-transactions', 'postgres/partition-life', 'postgres/transaction-kinds'],
  },
  {
    name: 'a half detached partition is left as it is',
    file: `${POSTGRES}/partition-drops.ts`,
    find: "if (state === 'half detached') await",
    replace: "if (state === 'gone') await",
    tests: ['postgres/partition-life', 'crash/clean-up-kill'],
  },
  {
    name: 'a drop that somebody’s lock prevents is a failure',
    file: `${POSTGRES}/partition-drops.ts`,
    find: "new Set(['55P03', '55000',",
    replace: "new Set(['55000',",
    tests: ['postgres/partition-life', 'postgres/clean-up-cost', 'conformance/clean-up'],
  },
  {
    name: 'a lock that prevents partitions ahead fails the job',
    file: `${POSTGRES}/partitions.ts`,
    find: '      if (!(error instanceof DatabaseLockedError)) throw error\n',
    replace: '      throw error\n',
    tests: ['postgres/partition-life', 'postgres/rights'],
  },
]

const pulledGroups: Mutant[] = [
  {
    name: 'a short pull shortens the life of a group that holds messages',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: '    if (until <= member.busyUntil) return\n',
    replace: '',
    tests: ['conformance/pulling', 'server/test/pull.test'],
  },
  {
    name: 'a group that nobody pulls from any more goes on beating',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: '      else if (member.pulls === 0) void this.#leave(member)\n',
    replace: '',
    tests: ['conformance/pulling', 'server/test/pull.test'],
  },
  {
    name: 'a pulled group that has left counts as joined',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: '    if (this.#members.get(member.key) === member) this.#members.delete(member.key)\n',
    replace: '',
    tests: ['conformance/pulling', 'server/test/pull.test'],
  },
  {
    name: 'consumers of a pulled group that has left are still counted',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: 'this.#runtime.instrumentation.metrics.forgetConsumer(topic.name, subscription.group, consumer)',
    replace: 'void [topic, subscription, consumer]',
    tests: ['conformance/pulling', 'conformance/consumers', 'conformance/metrics'],
  },
  {
    name: 'a group leaves while somebody pulls from it',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: 'else if (member.pulls === 0) void',
    replace: 'else void',
    tests: ['conformance/pulling', 'server/test/pull.test'],
  },
  {
    name: 'a long lease of a pull does not keep its group alive',
    file: `${CONSUME}/pull/pull-groups.ts`,
    find: 'for (const member of this.#membersOf(subscriptionUid)) this.#keep(member, ms)',
    replace: 'void this.#membersOf(subscriptionUid + ms)',
    tests: ['conformance/pulling', 'server/test/pull.test'],
  },
]

const waiting: Mutant[] = [
  {
    name: 'a publish overtakes one that waits for its messageId',
    file: `${TOPICS}/publish/pending-publishes.ts`,
    find: 'return messages.some(({ messageId }) => messageId !== null && this.#ids.has(messageId))',
    replace: 'return messages.length === 0',
    tests: ['conformance/transactions', 'postgres/caller-transactions', 'conformance/message-identity'],
  },
  {
    name: 'a publish whose messageId is in an open transaction is refused at once',
    file: `${TOPICS}/publish/pending-publishes.ts`,
    find: 'if (error instanceof MessageIdPendingError && !isLast) continue',
    replace: '',
    tests: ['conformance/transactions', 'postgres/caller-transactions', 'conformance/message-identity'],
  },
  {
    name: 'a publish that waited for a messageId is waited for for ever',
    file: `${TOPICS}/publish/pending-publishes.ts`,
    find: '      else this.#ids.delete(id)\n',
    replace: '',
    tests: ['conformance/transactions', 'postgres/caller-transactions', 'conformance/message-identity'],
  },
  {
    name: 'a writer closes before its messages are stored',
    file: `${TOPICS}/publish/writer.ts`,
    find: '    await Promise.allSettled(this.#sending)\n',
    replace: '',
    tests: ['conformance/write-and-read', 'conformance/publishing'],
  },
  {
    name: 'a closed writer sends',
    file: `${TOPICS}/publish/writer.ts`,
    find: 'if (this.#closed) throw new ClosedError(`The writer',
    replace: 'if (this.topic === "") throw new ClosedError(`The writer',
    tests: ['conformance/write-and-read', 'conformance/publishing'],
  },
  {
    name: 'one failing write fails all writes of its turn',
    file: `${TOPICS}/stores/sqlite/write-queue.ts`,
    find: 'const failed = current === undefined ? writes : [current]',
    replace: 'const failed = writes',
    tests: ['sqlite/write-queue'],
  },
  {
    name: 'writes that were run again get the results of the first run',
    file: `${TOPICS}/stores/sqlite/write-queue.ts`,
    find: '        results = writes.map(write => {',
    replace: '        if (results.length === 0) results = writes.map(write => {',
    tests: ['sqlite/write-queue'],
  },
]

const delays: Mutant[] = [
  {
    name: 'the first delay of a backoff is already multiplied',
    file: `${TOPICS}/backoff.ts`,
    find: 'factor ** (failures - 1)',
    replace: 'factor ** failures',
    tests: ['unit/backoff', 'conformance/settling'],
  },
  {
    name: 'a backoff grows without end',
    file: `${TOPICS}/backoff.ts`,
    find: 'return Math.min(maxMs, initialMs * factor ** (failures - 1))',
    replace: 'return initialMs * factor ** (failures - 1)',
    tests: ['unit/backoff'],
  },
  {
    name: 'a delay with jitter exceeds its maximum',
    file: `${TOPICS}/backoff.ts`,
    find: '(1 - 0.1 * random())',
    replace: '(1 + 0.1 * random())',
    tests: ['unit/backoff'],
  },
  {
    name: 'a slowed backfill judges the smaller batch by the larger one',
    file: `${TOPICS}/backfill/backfill-throttle.ts`,
    find: '    this.#probes = []\n',
    replace: '',
    tests: ['unit/backfill-throttle'],
  },
  {
    name: 'a backfill that has recovered still counts as slowed',
    file: `${TOPICS}/backfill/backfill-throttle.ts`,
    find: '      if (this.#batch >= this.#slowedFrom) this.#slowedFrom = 0\n',
    replace: '',
    tests: ['unit/backfill-throttle'],
  },
  {
    name: 'a batch of a backfill has more messages than a second may have',
    file: `${TOPICS}/backfill/backfill-throttle.ts`,
    find: 'return Math.min(this.#batch, Math.max(1, this.#plan.maxPerSecond))',
    replace: 'return this.#batch',
    tests: ['unit/backfill-throttle'],
  },
  {
    name: 'the pause of a backfill leaves out the time its batch took',
    file: `${TOPICS}/backfill/backfill-throttle.ts`,
    find: 'const atRateMs = (messages / this.#plan.maxPerSecond) * 1_000 - batchMs',
    replace: 'const atRateMs = (messages / this.#plan.maxPerSecond) * 1_000',
    tests: ['unit/backfill-throttle'],
  },
  {
    name: 'the end of a backfill is not reported as progress',
    file: `${TOPICS}/backfill/progress-events.ts`,
    find: "if (status === 'RUNNING' && now - this.#toldAt < EVERY_MS) return",
    replace: 'if (now - this.#toldAt < EVERY_MS) return',
    tests: ['conformance/backfill', 'conformance/life-cycle-log', 'unit/backfill-progress'],
  },
  {
    name: 'a backfill that runs elsewhere is reported as ended',
    file: `${TOPICS}/backfill/backfill-runner.ts`,
    find: "if (now === undefined || now.status === 'RUNNING') return { status: 'LOST', processed }",
    replace: "if (now === undefined) return { status: 'LOST', processed }",
    tests: ['conformance/backfill-fences', 'conformance/backfill'],
  },
  {
    name: 'the job that takes over a backfill does not renew its lock between batches',
    file: `${TOPICS}/backfill/backfill-runner.ts`,
    find: '      await onBatch?.()\n',
    replace: '',
    tests: ['conformance/backfill-fences', 'conformance/backfill', 'conformance/maintenance'],
  },
]

export const CACHES: Area = {
  name: 'caches',
  mutants: [...rows, ...wakeUps, ...partitions, ...pulledGroups, ...waiting, ...delays],
}
