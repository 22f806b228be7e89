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

const onSqlite = (mutants: Mutant[]): Mutant[] => mutants.map(mutant => ({ ...mutant, sqliteOnly: true }))

export const EDGES: Area = {
  name: 'edges',
  mutants: [...onSqlite([...pulling, ...publishing]), ...cursors, ...pipeline, ...server],
}
