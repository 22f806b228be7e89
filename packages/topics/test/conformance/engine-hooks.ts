/** The hooks of the conformance suites on the built-in engines: each is a statement of SQL per engine. */
import type { ConformanceFault, ConformanceHooks } from '../../src/conformance/hooks.ts'
import { functionsSchema } from '../postgres/functions-schema.ts'

export type Statement = { readonly sqlite: string; readonly postgres: string }

type Execute = (statement: Statement) => Promise<Record<string, unknown>[]>

/** Ends of leases come after the due times of retries, as `expireLeases` promises. */
const LONG_AGO: Statement = { sqlite: '1', postgres: "timestamptz '2000-01-01'" }
const LATELY: Statement = { sqlite: '2', postgres: "timestamptz '2001-01-01'" }
const NOW: Statement = { sqlite: "unixepoch('subsec') * 1000 + 1", postgres: 'clock_timestamp()' }
const LIVE = 'done_at is null and expired_at is null'

export function engineHooks(execute: Execute): Omit<ConformanceHooks, 'lock' | 'begin'> {
  const run = async (statement: Statement): Promise<void> => void (await execute(statement))
  const inFirstTopic = async (): Promise<string> => {
    const [row] = await execute(on(table => `select min(id) as id from ${table('topic')}`))
    return `log_${row?.id}`
  }
  return {
    expireLeases: ({ subscription, token } = {}) =>
      run(
        on(
          (table, { lately }) =>
            `update ${table('lease')} set deadline = ${lately} where deadline is not null and ${LIVE} ` +
            // The token of PostgreSQL's also tells the lease's size.
            `${ofSubscription(subscription)} ${token === undefined ? '' : `and token = '${token.split(':')[0]}'`}`,
        ),
      ),
    makeRetriesDue: ({ subscription, onlyDue = false } = {}) =>
      run(
        on(
          (table, { longAgo, now }) =>
            `update ${table('retry')} set due_at = ${longAgo} where token is null and due_at > ${longAgo} ` +
            `${ofSubscription(subscription)} ${onlyDue ? `and due_at <= ${now}` : ''}`,
        ),
      ),
    ageGroups: async (ms, group) => {
      const which = group === undefined ? '' : `where group_name = '${group}'`
      const columns = ['last_heartbeat_at', 'missed_at', 'status_at', 'moved_at']
      await run(on((table, { earlier }) => `update ${table('subscription')} set ${earlier(columns, ms)} ${which}`))
      await run(on((table, { earlier }) => `update ${table('consumer')} set ${earlier(['reported_at'], ms)}`))
    },
    ageMessages: async (topic, ms) => {
      const [row] = await execute(on(table => `select id from ${table('topic')} where name = '${topic}'`))
      await run(on((table, { earlier }) => `update ${table(`log_${row?.id}`)} set ${earlier(['created_at'], ms)}`))
      await run({
        sqlite: 'select 1',
        postgres: `update tidemark.partition set ${earlierThere(['newest'], ms)} where topic_id = ${row?.id}`,
      })
    },
    ageTopics: ms => run(on((table, { earlier }) => `update ${table('topic')} set ${earlier(['created_at'], ms)}`)),
    ageJobs: ms =>
      run(
        on(
          (table, { earlier }) =>
            `update ${table('job')} set ${earlier(['locked_until', 'started_at', 'finished_at', 'succeeded_at'], ms)}`,
        ),
      ),
    ageMessageIds: ms =>
      run(on((table, { earlier }) => `update ${table('dedupe')} set ${earlier(['created_at'], ms)}`)),
    orphanBackfills: () =>
      run(
        on(
          (table, { longAgo }) =>
            `update ${table('backfill')} set lease_until = ${longAgo} where lease_until is not null`,
        ),
      ),
    setStatus: (group, status) =>
      run(on(table => `update ${table('subscription')} set status = '${status}' where group_name = '${group}'`)),
    removeGroups: () => run(on(table => `delete from ${table('subscription')}`)),
    forgetLeases: ({ subscription, closed = false } = {}) =>
      run(
        on(
          table =>
            `delete from ${table('lease')} where true ${ofSubscription(subscription)} ${closed ? `and not (${LIVE})` : ''}`,
        ),
      ),
    removeMessagesBelow: async id => {
      const log = await inFirstTopic()
      await run({
        sqlite: `delete from tidemark_${log} where id < ${id}`,
        postgres: `drop table tidemark.${log}_p0`,
      })
      await run({ sqlite: `update tidemark_topic set first_id = ${id}`, postgres: 'select 1' })
    },
    loseMessagesAfter: async id => {
      const log = await inFirstTopic()
      await run(on(table => `delete from ${table(log)} where id > ${id}`))
      await run({
        sqlite: `update tidemark_topic set next_id = ${id + 1} where id = ${log.slice('log_'.length)}`,
        postgres: `select setval('tidemark.${log}_id', ${id})`,
      })
    },
    moveCursors: ids =>
      run({
        sqlite: `update tidemark_subscription set cursor = cursor + ${ids}`,
        postgres: `update tidemark.subscription set to_id = to_id + ${ids}`,
      }),
    replaceIdentity: of =>
      run(on(table => `update ${table(of === 'topics' ? 'topic' : 'subscription')} set uid = 4711`)),
    contents: () => contents(execute),
    breakDown: what => breakDown(execute, what),
  }
}

type Words = {
  readonly longAgo: string
  readonly lately: string
  readonly now: string
  earlier(columns: readonly string[], ms: number): string
}

/** One text for both engines, with each engine's names of tables and its own words for times. */
const on = (text: (table: (name: string) => string, words: Words) => string): Statement => ({
  sqlite: text(name => `tidemark_${name}`, {
    longAgo: LONG_AGO.sqlite,
    lately: LATELY.sqlite,
    now: NOW.sqlite,
    earlier: (columns, ms) => columns.map(column => `${column} = ${column} - ${ms}`).join(', '),
  }),
  postgres: text(name => `tidemark.${name}`, {
    longAgo: LONG_AGO.postgres,
    lately: LATELY.postgres,
    now: NOW.postgres,
    earlier: earlierThere,
  }),
})

const earlierThere = (columns: readonly string[], ms: number): string =>
  columns.map(column => `${column} = ${column} - ${ms} * interval '1 millisecond'`).join(', ')

const ofSubscription = (id: number | undefined): string => (id === undefined ? '' : `and subscription_id = ${id}`)

const TABLES = ['topic', 'subscription', 'lease', 'retry', 'dead_letter', 'dedupe', 'backfill', 'bit_wipe', 'job']

/** All that is stored for the first topic, which tracks references, ids that were drawn included. */
async function contents(execute: Execute): Promise<unknown> {
  const tables = await Promise.all(
    [...TABLES, 'log_1', 'track_1', 'namespace'].map(table =>
      execute({
        sqlite: `select * from tidemark_${table} order by 1`,
        postgres: `select to_jsonb(t)::text as row from tidemark.${table} as t order by 1`,
      }),
    ),
  )
  const drawn = await execute({
    sqlite: 'select * from sqlite_sequence order by name',
    postgres: `select sequencename, last_value::text from pg_sequences where schemaname = 'tidemark' order by 1`,
  })
  return { tables, drawn }
}

/** What each kind of call needs of the database, taken away and given back. */
const FAULTS: Record<'publish' | 'claim' | 'settle' | 'heartbeat', { take: Statement; give: Statement }> = {
  publish: {
    take: {
      sqlite: 'alter table tidemark_log_1 rename to gone',
      postgres: `
        create function tidemark.refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger broken before insert on tidemark.log_1 for each row execute function tidemark.refuse()`,
    },
    give: { sqlite: 'alter table gone rename to tidemark_log_1', postgres: 'drop trigger broken on tidemark.log_1' },
  },
  claim: withoutFunction('claim', 'insert on tidemark_lease'),
  settle: withoutFunction('settle', 'update of done_at on tidemark_lease'),
  heartbeat: withoutFunction('heartbeat', 'update of last_heartbeat_at on tidemark_subscription'),
}

function withoutFunction(name: string, event: string): { take: Statement; give: Statement } {
  return {
    take: {
      sqlite: `create trigger broken before ${event} begin select raise(abort, 'no'); end`,
      postgres: `alter function ${functionsSchema()}.${name} rename to gone`,
    },
    give: { sqlite: 'drop trigger broken', postgres: `alter function ${functionsSchema()}.gone rename to ${name}` },
  }
}

async function breakDown(execute: Execute, what: keyof typeof FAULTS): Promise<ConformanceFault> {
  const { take, give } = FAULTS[what]
  await execute(take)
  let isBroken = true
  const mend = async (): Promise<void> => {
    if (!isBroken) return
    isBroken = false
    await execute(give)
  }
  return { mend, [Symbol.asyncDispose]: mend }
}
