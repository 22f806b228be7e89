/** Fences inside one statement, second attempts, and places that no other list looks at. */
import type { Area, Mutant } from '../mutant.ts'

const TOPICS = 'packages/topics/src'
const PULL = `${TOPICS}/consume/pull`
const POSTGRES = `${TOPICS}/stores/postgres/functions`
const PIPELINE = 'packages/pipeline/src'
const SERVER = 'packages/server/src'

const pulling: Mutant[] = [
  {
    name: 'a message may be acked and nacked in one settlement',
    file: `${PULL}/settlement.ts`,
    find: '  refuseTwice([...acks, ...nacks.map(({ id }) => id), ...releases])\n',
    replace: '',
    tests: ['conformance/pulling'],
  },
  {
    name: 'acks of a pulled page count as failures',
    file: `${PULL}/settlement.ts`,
    find: 'meter?.settled(place >= acked, ms)',
    replace: 'meter?.settled(place < acked, ms)',
    tests: ['conformance/pulling', 'conformance/consumers', 'conformance/figures'],
  },
  {
    name: 'salts of different publishes are packed as one',
    file: `${PULL}/receipt.ts`,
    find: 'if (salts.every(salt => salt === first)) return first',
    replace: 'return first',
    tests: ['conformance/pulling', 'conformance/forged-receipts'],
  },
]

const publishing: Mutant[] = [
  {
    name: 'a deleted topic stays in the cache of a publisher',
    file: `${TOPICS}/publish/publisher.ts`,
    find: 'if (error instanceof TopicNotFoundError) this.#runtime.topics.forget(topic.name)',
    replace: '',
    tests: ['conformance/unknown-topics', 'conformance/incarnations', 'conformance/publishing'],
  },
  {
    name: 'only the first message of a batch is measured',
    file: `${TOPICS}/publish/publisher.ts`,
    find: 'for (const message of outgoing) checkSize(record, message)',
    replace: 'for (const message of outgoing.slice(0, 1)) checkSize(record, message)',
    tests: ['conformance/publishing', 'conformance/payloads', 'conformance/size'],
  },
  {
    name: 'a schema sees the payload only of the first message of a batch',
    file: `${TOPICS}/publish/publisher.ts`,
    find: 'await Promise.all(outgoing.map(message => this.#check(topic, schema, message)))',
    replace: 'await Promise.all(outgoing.slice(0, 1).map(message => this.#check(topic, schema, message)))',
    tests: ['conformance/payloads', 'conformance/publishing', 'conformance/schemas'],
  },
]

const cursors: Mutant[] = [
  {
    name: 'a window begins where the last one had been read to',
    file: `${POSTGRES}/cursor.sql`,
    find: '  moved.at_id := 0;\n',
    replace: '',
    tests: ['postgres/leases', 'postgres/subscribing', 'conformance/claims', 'conformance/readers', 'postgres/cursor'],
  },
  {
    name: 'an open transaction forgets its bound at the next window',
    file: `${POSTGRES}/cursor.sql`,
    find: 'select coalesce(known.id, moved.from_id)',
    replace: 'select moved.from_id',
    tests: ['postgres/leases', 'postgres/subscribing', 'conformance/claims', 'postgres/cursor'],
  },
  {
    name: 'late rows are read again from their bound on',
    file: `${POSTGRES}/cursor.sql`,
    find: 'then greatest(tidemark_fn.late_after(s), s.at_id) end',
    replace: 'then tidemark_fn.late_after(s) end',
    tests: ['postgres/leases', 'postgres/subscribing', 'conformance/claims', 'postgres/cursor'],
  },
  {
    name: 'the cursor passes transactions that are still open',
    file: `${POSTGRES}/cursor.sql`,
    find: 's.next_id, (select min(i) from unnest(s.open_ids) as i));',
    replace: 's.next_id);',
    tests: ['postgres/leases', 'postgres/partition-life', 'conformance/clean-up', 'postgres/cursor'],
  },
  {
    name: 'a window with late rows only is taken for used up',
    file: `${POSTGRES}/cursor.sql`,
    find: 'and (cardinality(s.late_ids) = 0 or s.at_id >= s.to_id or coalesce',
    replace: 'and (true or coalesce',
    tests: ['postgres/leases', 'postgres/subscribing', 'conformance/claims', 'postgres/cursor'],
  },
]

const pipeline: Mutant[] = [
  {
    name: 'a repeated settlement of an earlier claim is accepted',
    file: `${PIPELINE}/ledger/ledger-change.ts`,
    find: 'if (row?.version === claim.version && row.status === status) return',
    replace: 'if (row?.status === status) return',
    tests: ['pipeline/test/ledger'],
  },
  {
    name: 'a claim timeout of 0 takes over at once',
    file: `${PIPELINE}/ledger/ledger-change.ts`,
    find: 'return claimTimeoutMs === 0 ? Number.MIN_SAFE_INTEGER : this.#rows.now - claimTimeoutMs',
    replace: 'return this.#rows.now - claimTimeoutMs',
    tests: ['pipeline/test/ledger'],
  },
  {
    name: 'a message for another indexer is taken',
    file: `${PIPELINE}/services/indexing/sources/topic-source.ts`,
    find: 'if (wanted !== undefined && wanted !== this.#run.indexer) {',
    replace: 'if (wanted !== undefined && wanted === "") {',
    tests: ['pipeline/test/dead-letters', 'pipeline/test/indexing'],
  },
  {
    name: 'a batch of another run is indexed',
    file: `${PIPELINE}/services/indexing/sources/topic-source.ts`,
    find: '  if (runId !== ofRun)\n',
    replace: '  if (runId === "")\n',
    tests: ['pipeline/test/indexing'],
  },
  {
    name: 'a batch below the first processed tick is never found',
    file: `${PIPELINE}/services/indexing/sources/storage-source.ts`,
    find: 'return tickStart === 0 ? [above] : [above, { fromTick: 0, toTick: tickStart - 1 }]',
    replace: 'return [above]',
    tests: ['pipeline/test/indexing', 'pipeline/test/ledger'],
  },
  {
    name: 'claims are kept when a storage source closes',
    file: `${PIPELINE}/services/indexing/sources/storage-source.ts`,
    find: '      await this.#ledger.release(claim).catch(',
    replace: '      await Promise.resolve(claim).catch(',
    tests: ['pipeline/test/indexing'],
  },
]

const server: Mutant[] = [
  {
    name: 'a reader of another life is continued',
    file: `${SERVER}/streams/event-hub.ts`,
    find: "if (life !== this.#life || !/^\\d{1,15}$/.test(number ?? ''))",
    replace: "if (!/^\\d{1,15}$/.test(number ?? ''))",
    tests: ['server/test/streams'],
  },
  {
    name: 'a reader that missed exactly one event is not told',
    file: `${SERVER}/streams/event-hub.ts`,
    find: 'return oldest > Number(number) + 1 ?',
    replace: 'return oldest > Number(number) + 2 ?',
    tests: ['server/test/streams'],
  },
]

const operating: Mutant[] = [
  {
    name: 'the loss of a cancelled group keeps health from being healthy',
    file: `${TOPICS}/admin/health.ts`,
    find: " && each.status !== 'CANCELLED'",
    replace: '',
    tests: [
      'conformance/admin-health',
      'conformance/admin-findings',
      'conformance/dead-group-loss',
      'conformance/forced-cap',
    ],
  },
  {
    name: 'a long run of the clean-up counts as overdue',
    file: `${TOPICS}/admin/health.ts`,
    find: 'job?.running ? job.startedAt : job?.succeededAt',
    replace: 'job?.succeededAt',
    tests: ['conformance/admin-health', 'conformance/admin-findings', 'conformance/maintenance'],
  },
  {
    name: 'a namespace without topics is overdue',
    file: `${TOPICS}/admin/health.ts`,
    find: 'topics.length > 0 && now - since > limits.overdueMs',
    replace: 'now - since > limits.overdueMs',
    tests: ['conformance/admin-health', 'conformance/admin-findings'],
  },
  {
    name: 'what a paused group waits for is never stuck',
    file: `${TOPICS}/admin/health.ts`,
    find: "status === 'ACTIVE' || status === 'PAUSED'",
    replace: "status === 'ACTIVE'",
    tests: ['conformance/admin-health', 'conformance/admin-findings'],
  },
  {
    name: 'a page of dead letters that bytes have ended is the last',
    file: `${TOPICS}/admin/dead-letters.ts`,
    find: 'const isMore = letters.length === query.limit || (await isCut())',
    replace: 'const isMore = letters.length === query.limit',
    tests: ['conformance/byte-bounds', 'conformance/admin-dead-letters', 'conformance/dead-letter-errors'],
  },
  {
    name: 'a redrive by fingerprint goes beyond its limit',
    file: `${TOPICS}/admin/dead-letters.ts`,
    find: 'redriveAll(runtime, topic, each, most - sums.redriven)',
    replace: 'redriveAll(runtime, topic, each, most)',
    tests: ['conformance/dead-letter-errors', 'conformance/admin-dead-letters'],
  },
  {
    name: 'a discard goes beyond its limit',
    file: `${TOPICS}/admin/dead-letters.ts`,
    find: 'const limit = Math.min(PAGE, most - discarded)',
    replace: 'const limit = PAGE',
    tests: ['conformance/dead-letter-errors', 'conformance/admin-dead-letters'],
  },
  {
    name: 'a redriven message waits for the next look',
    file: `${TOPICS}/admin/dead-letters.ts`,
    find: '  runtime.wakeHub.wake(topic.id)\n',
    replace: '',
    tests: ['conformance/admin-dead-letters', 'conformance/wake-ups'],
  },
]

const rows: Mutant[] = [
  {
    name: 'a gap in a plain page shifts the messages behind it',
    file: `${TOPICS}/stores/sqlite/log-rows.ts`,
    find: '  if (rows.length !== last - first + 1) return readPage(tx, topicId, first, last, PLAIN_COLUMNS)\n',
    replace: '',
    tests: ['conformance/readers', 'sqlite/gaps', 'conformance/large-pages'],
  },
  {
    name: 'a page of three publishes is read as of two',
    file: `${TOPICS}/stores/sqlite/log-rows.ts`,
    find: ' and l.salt in (?3, ?4)',
    replace: ' and ?4',
    tests: ['sqlite/plain-pages', 'conformance/message-identity', 'conformance/large-pages', 'conformance/readers'],
  },
  {
    name: 'every message of a page of two publishes is read with its time',
    file: `${TOPICS}/stores/sqlite/log-rows.ts`,
    find: 'select cast(?1 as integer), cast(?2 as integer)',
    replace: 'select ?1, ?2',
    tests: ['sqlite/plain-pages'],
  },
]

const queues: Mutant[] = [
  {
    name: 'a put that is withdrawn lets nobody in',
    file: `${PIPELINE}/queues/bounded-queue.ts`,
    find: '      // It may have been first in line, and the next one smaller.\n      this.#admit()\n',
    replace: '',
    tests: ['pipeline/test/queues'],
  },
  {
    name: 'a put overtakes those that wait',
    file: `${PIPELINE}/queues/bounded-queue.ts`,
    find: 'if (this.#waitingPuts.size > 0 || !this.#hasRoom(bytes)',
    replace: 'if (!this.#hasRoom(bytes)',
    tests: ['pipeline/test/queues'],
  },
  {
    name: 'an item larger than the queue waits for ever',
    file: `${PIPELINE}/queues/bounded-queue.ts`,
    find: 'return this.#length === 0 || (this.#length < maxItems',
    replace: 'return (this.#length < maxItems',
    tests: ['pipeline/test/queues'],
  },
  {
    name: 'a drain takes more bytes than asked for',
    file: `${PIPELINE}/queues/bounded-queue.ts`,
    find: 'if (taken.length === max || (taken.length > 0 && bytes + next.bytes > room)) break',
    replace: 'if (taken.length === max) break',
    tests: ['pipeline/test/queues'],
  },
  {
    name: 'what is left in a failed queue is lost',
    file: `${PIPELINE}/queues/bounded-queue.ts`,
    find: 'if (taken.length === 0 && this.isEnded && this.#closed?.error) throw this.#closed.error',
    replace: 'if (this.#closed?.error) throw this.#closed.error',
    tests: ['pipeline/test/queues'],
  },
]

const onSqlite = (mutants: Mutant[]): Mutant[] => mutants.map(mutant => ({ ...mutant, sqliteOnly: true }))

export const EDGES: Area = {
  name: 'edges',
  mutants: [
    ...onSqlite([...pulling, ...publishing, ...operating, ...rows, ...queues]),
    ...cursors,
    ...pipeline,
    ...server,
  ],
}
