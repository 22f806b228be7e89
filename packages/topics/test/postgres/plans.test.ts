import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { it } from 'node:test'
import pg from 'pg'
import { startPostgres } from '../../../../testing/postgres-server.ts'
import { openPostgres } from '../../src/stores/postgres/store.ts'
import { SILENT } from '../conformance/stores.ts'
import { ROWS, runScenario } from '../plans/scenario.ts'

/** These have a row for each message, or for each page. */
const LARGE = /^(log|track|retry|lease|dead_letter|dedupe)(_|$)/

/** Rows of one table that one statement may read, for a message that the step is about, and beside. */
const MOST_PER_MESSAGE = 4
const ALWAYS = 100

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  Filter?: string
  Plans?: Plan[]
}
type Ran = {
  readonly step: string
  readonly messages: number
  /** Rows by table and statement. */
  readonly read: Map<string, number>
}

/** What the server says of every statement of this process, those inside functions too. */
class Plans {
  readonly ran: Ran[] = []
  readonly scans: string[] = []
  /** Where each element of one array is compared with each of another. */
  readonly comparisons = new Set<string>()
  #current: Ran | undefined

  constructor() {
    const plans = this
    pg.Client.prototype.emit = function (this: pg.Client, name: string | symbol, ...values: unknown[]): boolean {
      if (name === 'notice') plans.#note((values[0] as { message?: string }).message ?? '')
      return EventEmitter.prototype.emit.call(this, name, ...values)
    }
  }

  begin(step: string, messages: number): void {
    this.#current = { step, messages, read: new Map() }
    this.ran.push(this.#current)
  }

  /** Tables of which a step read far more than it is about. */
  get excessive(): string[] {
    return this.ran.flatMap(({ step, messages, read }) =>
      [...read]
        .filter(([, rows]) => rows > MOST_PER_MESSAGE * messages + ALWAYS)
        .map(([statement, rows]) => `${step} (${messages}): ${rows} of ${statement}`),
    )
  }

  #note(text: string): void {
    if (!text.includes('plan:') || this.#current === undefined) return
    const json = JSON.parse(text.slice(text.indexOf('{'))) as { 'Query Text': string; Plan: Plan }
    this.#collect(json.Plan, json['Query Text'].replaceAll(/\s+/g, ' ').slice(0, 300), this.#current)
  }

  #collect(plan: Plan, text: string, ran: Ran): void {
    const relation = plan['Relation Name'] ?? ''
    if (plan['Node Type'].includes('Scan') && LARGE.test(relation)) {
      const rows = ((plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)) * (plan['Actual Loops'] ?? 1)
      const statement = `${relation}: ${text}`
      ran.read.set(statement, (ran.read.get(statement) ?? 0) + rows)
      // A step about all of a table may read it so.
      if (plan['Node Type'].includes('Seq Scan') && rows > ALWAYS && ran.messages < ROWS) {
        this.scans.push(`${ran.step}: ${plan['Node Type']} of ${rows} rows, ${statement}`)
      }
    }
    // The server hashes an array only where it plans for that very one, which it does no more after a few calls.
    const given = (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)
    const isOfArray = ['Function Scan', 'Subquery Scan'].includes(plan['Node Type'])
    if (isOfArray && given > ALWAYS && /(=|<>) (ANY|ALL) \(/.test(plan.Filter ?? '')) {
      this.comparisons.add(`${ran.step}: ${given} elements, ${text}`)
    }
    for (const each of plan.Plans ?? []) this.#collect(each, text, ran)
  }
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  client_min_messages: 'log',
}

it('every statement finds its rows by an index, in tables of 100 000 rows', async () => {
  await using server = await startPostgres()
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  const plans = new Plans()
  const open = () =>
    openPostgres({ url: server.url, namespace: 'default', poolSize: 2, rowCacheBytes: 1_000_000, logger: SILENT })
  let store = await open()
  const execute = async (sql: string): Promise<void> => void (await admin.query(sql))
  try {
    await runScenario({
      // The scenario keeps what it was given; the store behind it is opened anew once its sessions tell their plans.
      store: new Proxy(store, { get: (_, name) => Reflect.get(store, name).bind?.(store) ?? Reflect.get(store, name) }),
      async step(name, messages, run) {
        plans.begin(name, messages)
        return await run()
      },
      filled: async () => {
        await execute('analyze')
        for (const [name, value] of Object.entries(SETTINGS))
          await execute(`alter database postgres set ${name} = '${value}'`)
        await store.close()
        store = await open()
      },
      fillRetries: id =>
        execute(`
          insert into tidemark.retry (subscription_id, id, xid, attempts, version, due_at, suspect, history)
          select ${id}, id, xid, 1, 1, clock_timestamp() + interval '1 hour', false, '[]' from tidemark.log_1`),
      fillDeadLetters: (id, group) =>
        execute(`
          insert into tidemark.dead_letter (
            topic_id, subscription_id, group_name, message_id, salt, created_at, payload, attempts, version, error, history
          )
          select 1, ${id}, '${group}', id, salt, created_at, payload, 1, 1, '{"name": "Error", "message": ""}', '[]'
          from tidemark.log_1`),
      fillLeases: id =>
        execute(`
          insert into tidemark.lease (token, subscription_id, consumer, kind, size, claimed_at, done_at)
          select gen_random_uuid(), ${id}, 'c', 'page', 1, clock_timestamp(), clock_timestamp()
          from generate_series(1, ${ROWS})`),
      expireLeases: id =>
        execute(`
          update tidemark.lease set deadline = clock_timestamp() - interval '1 second'
          where subscription_id = ${id} and done_at is null and expired_at is null`),
      makeRetriesDue: () =>
        execute(`update tidemark.retry set due_at = clock_timestamp() - interval '1 second' where token is null`),
      loseRetried: id =>
        execute(`
          delete from tidemark.log_1 where id = (select min(id) from tidemark.retry where subscription_id = ${id})`),
      passHour: () => execute(`update tidemark.partition set newest = newest - interval '2 hours'`),
      silence: group =>
        execute(`
          update tidemark.subscription set last_heartbeat_at = now() - interval '1 hour', misses = 5 where group_name = '${group}'`),
    })
    assert.ok(plans.ran.length > 60 && plans.ran.some(({ read }) => read.size > 0))
    assert.deepEqual([...plans.scans, ...plans.excessive, ...plans.comparisons], [])
  } finally {
    await store.close()
    await admin.end()
  }
})
