/** Deliberate defects, each of a kind that tests of single parts tend to miss, and the rules that must notice it. */
import type { Rule } from '../check/violation.ts'
import type { Engine } from '../world.ts'

export type Mutant = {
  readonly name: string
  readonly about: string
  readonly engine: Engine
  readonly faults: readonly string[]
  readonly seconds: number
  readonly edits: readonly { readonly file: string; readonly from: string; readonly to: string }[]
  readonly caughtBy: readonly Rule[]
}

const SQLITE = 'packages/topics/src/stores/sqlite'
const JETSTREAM = 'packages/jetstream/src'
const POSTGRES = 'packages/topics/src/stores/postgres'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'stale-settle',
    about: 'settle has no version check: a lease that others took over is accepted',
    engine: 'sqlite',
    faults: ['freeze'],
    seconds: 20,
    edits: [
      {
        file: `${SQLITE}/settle.ts`,
        from: 'if (lease === undefined || lease.expired_at !== null) return',
        to: 'if (lease === undefined) return',
      },
    ],
    caughtBy: ['delivered after its ack', 'dead letters', 'inconsistent', 'process ended', 'stuck'],
  },
  {
    name: 'cursor-by-id',
    about: 'the cursor follows plain ids and skips transactions that commit late',
    engine: 'postgres',
    faults: ['kill'],
    seconds: 15,
    edits: [
      {
        file: `${POSTGRES}/functions/cursor.sql`,
        from: 'case when cardinality(s.late_ids) > 0 then greatest(tidemark_fn.late_after(s), s.at_id) end',
        to: 'null::bigint',
      },
    ],
    caughtBy: ['lost'],
  },
  {
    name: 'ack-before-flush',
    about: 'a publish is acknowledged before its log is synced to the disk',
    engine: 'sqlite',
    faults: ['power-loss'],
    seconds: 20,
    edits: [
      {
        file: `${SQLITE}/connection.ts`,
        from: '      await this.#wal.flush()\n',
        to: '      setTimeout(() => void this.#wal.flush().catch(() => {}), 60_000).unref()\n',
      },
    ],
    caughtBy: ['lost'],
  },
  {
    name: 'cache-by-id',
    about: 'cached rows are found by id alone, although a database that lost commits gives ids out again',
    engine: 'postgres',
    faults: ['lost-commits'],
    seconds: 25,
    edits: [
      {
        file: `${POSTGRES}/row-cache.ts`,
        from: 'if (topic?.server !== server) return undefined',
        to: 'if (topic === undefined) return undefined',
      },
      {
        file: `${POSTGRES}/row-cache.ts`,
        from: 'row === undefined || row.xid !== xids[index]',
        to: 'row === undefined',
      },
      { file: `${POSTGRES}/row-cache.ts`, from: 'if (topic?.server !== server) {', to: 'if (topic === undefined) {' },
      { file: `${POSTGRES}/row-cache.ts`, from: '    this.#topics.clear()\n', to: '' },
    ],
    caughtBy: ['lost', 'invented', 'attempt repeated', 'delivered after its ack', 'message id reused'],
  },
  {
    name: 'retry-unknown-publish',
    about: 'a publish whose outcome is unknown is sent again',
    engine: 'postgres',
    faults: ['lost-answers'],
    seconds: 15,
    edits: [
      {
        file: `${POSTGRES}/publish.ts`,
        from: '        const error = unknownIfLost(thrown, this.#database.location)\n',
        to: `        const error = unknownIfLost(thrown, this.#database.location)
        if (error instanceof OutcomeUnknownError) return await insert()
`,
      },
    ],
    caughtBy: ['stored twice'],
  },
  {
    name: 'no-deadline',
    about: 'statements have no deadline on the client, so a silent connection is waited for without end',
    engine: 'postgres',
    faults: ['half-open'],
    seconds: 15,
    edits: [
      {
        file: `${POSTGRES}/session.ts`,
        from: 'this.#deadlines.begin(sentAt, this.limitMs, giveUp)',
        to: 'this.#deadlines.begin(sentAt, Number.POSITIVE_INFINITY, giveUp)',
      },
    ],
    caughtBy: ['stuck', 'lost'],
  },
  {
    name: 'no-take-over',
    about: 'a lease that has expired is never taken over',
    engine: 'sqlite',
    faults: ['kill'],
    seconds: 15,
    edits: [
      {
        file: `${SQLITE}/lease-expiry.ts`,
        from: 'where subscription_id = ? and deadline < ? and done_at',
        to: 'where subscription_id = ? and deadline < ? - 3600000 and done_at',
      },
    ],
    caughtBy: ['stuck'],
  },
  {
    name: 'uncounted-attempt',
    about: 'a retry does not count as an attempt',
    engine: 'sqlite',
    faults: ['kill'],
    seconds: 15,
    edits: [
      {
        file: `${SQLITE}/due-retries.ts`,
        from: 'select id, attempts + 1 as attempts, version + 1 as version, piece\n',
        to: 'select id, attempts, version + 1 as version, piece\n',
      },
    ],
    caughtBy: ['attempt repeated', 'too many attempts', 'stuck'],
  },
  {
    name: 'jetstream-unfenced',
    about: 'a settlement of a lease that was taken away is accepted',
    engine: 'jetstream',
    faults: ['freeze'],
    seconds: 25,
    edits: [
      {
        file: `${JETSTREAM}/group/settle.ts`,
        from: '  if (taken?.nonce === nonce) return staleResult(new Slots(taken.settled, taken.size), settlement, false)\n',
        to: '  if (taken?.nonce === nonce) return { stale: [], deadLettered: [], finished: true }\n',
      },
    ],
    caughtBy: ['delivered after its ack', 'dead letters', 'inconsistent'],
  },
  {
    name: 'jetstream-no-revision',
    about: "a group's document is replaced whatever another process has stored meanwhile",
    engine: 'jetstream',
    faults: ['freeze', 'blocked-steward'],
    seconds: 25,
    edits: [
      {
        file: `${JETSTREAM}/commits.ts`,
        from: 'written(names.group(group.key, group.ref.id), document, revision)',
        to: 'unchecked(written(names.group(group.key, group.ref.id), document, revision))',
      },
      {
        file: `${JETSTREAM}/commits.ts`,
        from: 'type Change = {\n',
        to: 'const unchecked = <T extends object>(write: T): T => ({ ...write, expected: undefined })\ntype Change = {\n',
      },
    ],
    caughtBy: ['lost', 'delivered after its ack', 'attempt repeated', 'dead letters', 'stuck', 'inconsistent'],
  },
]
