import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { forgetOldLeases } from '../../src/stores/sqlite/lease-expiry.ts'
import { openSqlite } from '../../src/stores/sqlite/store.ts'
import { PAGE, ROWS, runScenario } from '../plans/scenario.ts'

/** These have a row for each message, or for each page. */
const LARGE = /^tidemark_(log|track|retry|lease|dead_letter|dedupe)/

type Ran = { readonly step: string; times: number }

/** Every statement that this process prepares, the step that did so first, and how often one step has run it at most. */
class Statements {
  readonly ran = new Map<string, Ran>()
  step = 'fill'
  #counts = new Map<string, number>()
  readonly #prepare = DatabaseSync.prototype.prepare

  constructor() {
    const statements = this
    const prepare = this.#prepare
    DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
      const statement = prepare.call(this, sql)
      for (const verb of ['run', 'get', 'all'] as const) {
        const method = statement[verb].bind(statement) as (...values: unknown[]) => unknown
        Object.assign(statement, {
          [verb]: (...values: unknown[]) => {
            statements.#count(sql)
            return method(...values)
          },
        })
      }
      return statement
    }
  }

  begin(step: string): void {
    this.step = step
    this.#counts = new Map()
  }

  restore(): void {
    DatabaseSync.prototype.prepare = this.#prepare
  }

  #count(sql: string): void {
    const count = (this.#counts.get(sql) ?? 0) + 1
    this.#counts.set(sql, count)
    const ran = this.ran.get(sql) ?? { step: this.step, times: 0 }
    ran.times = Math.max(ran.times, count)
    this.ran.set(sql, ran)
  }
}

/** By all that makes a row the one. */
const ONE_ROW =
  /INTEGER PRIMARY KEY \(rowid=\?\)|PRIMARY KEY \(token=\?\)|\(token=\? AND slot=\?\)|\(subscription_id=\? AND id=\?\)|\(topic_id=\? AND message_id=\?\)/
/** Between two ids that the caller gives, or the first that is due. */
const RANGE = /PRIMARY KEY \((rowid|token)>\? AND (rowid|token)<\?\)|suspect=\? AND due_at<\?/

type Reason = readonly [statement: RegExp, reason: string]

/** Statements that read more than they give, and why that is right. */
const REVIEWED: readonly Reason[] = [
  [/where id between \? and \? order by id$/, 'one message: from its id to its id'],
  [/and deadline < \? and done_at is null/, 'the leases that have run out, all of which are ended'],
  [/from tidemark_retry where token = \?( order by slot)?$/, 'what a lease holds'],
  [/done_at is null and (l\.)?expired_at is null/, 'the live leases of a group: a few for each of its consumers'],
  [/count\(\*\) as (retries|deadLetters|count) from/, 'counts of one group, of entries of an index'],
  [/order by id desc limit 1000\)/, 'the newest thousand'],
  [/order by s\.group_name$/, 'sorts groups, of which there are few'],
  [/as orphaned$/m, 'counts all that were selected, once for a call'],
  [/from tidemark_retry where subscription_id = \? and id between/, 'the retries of a page'],
  [/delete from tidemark_retry where subscription_id = \?/, 'all of them go'],
  [/^\s*(update|delete from) tidemark_track_\d+ .*where id <= \?/s, 'all of them are changed, or go'],
  [/^delete from tidemark_(subscription|topic) where id = \?$/, 'all that belongs to it goes along'],
  [
    /^\s*delete from tidemark_lease\s+where subscription_id (=|in)/,
    'a group is removed seldom; an index would cost every claim',
  ],
  [/^insert into tidemark_topic /, 'as the foreign keys would, if it replaced one'],
  [/where message_id = \? order by id desc limit 1$/, 'a messageId past its window: only the log itself may know it'],
]

/** What is wrong with a statement's plan; undefined where nothing is. */
function faultOf(sql: string, plan: readonly string[], times: number): string | undefined {
  const aliases = new Map(
    [...sql.matchAll(/\b(tidemark_\w+) (?:as )?([a-z]\w*)\b/g)].map(([, table = '', alias = '']) => [alias, table]),
  )
  for (const detail of plan) {
    const [, verb, name = ''] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? []
    if (!LARGE.test(aliases.get(name) ?? name)) continue
    if (verb === 'SCAN') return detail
    if (plan.some(each => each.includes('TEMP B-TREE FOR ORDER BY'))) return `sorts: ${plan.join(', ')}`
    if (ONE_ROW.test(detail)) continue
    const isBounded = RANGE.test(detail) || /\blimit\b|\bmin\(|\bmax\(/.test(sql)
    if (!isBounded || times > PAGE / 4) return `${times} times ${detail}`
  }
  return undefined
}

/** Of a table that is gone again there is none. */
function planOf(db: DatabaseSync, sql: string): string[] {
  try {
    return db
      .prepare(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
  } catch (error) {
    assert.match(String(error), /no such table/)
    return []
  }
}

it('every statement finds its rows by an index, in tables of 100 000 rows', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const statements = new Statements()
  const store = await openSqlite({
    ...{ path, durability: 'process', busyTimeoutMs: 10_000, ownFile: true, rowCacheBytes: 1_000_000 },
  })
  using db = new DatabaseSync(path, { timeout: 10_000 })
  const execute = async (sql: string): Promise<void> => db.exec(sql)
  try {
    await runScenario({
      store,
      async step(name, _, run) {
        statements.begin(name)
        return await run()
      },
      filled: async () => {},
      fillRetries: id =>
        execute(`
          insert into tidemark_retry (subscription_id, id, attempts, version, due_at, suspect, history)
          select ${id}, id, 1, 1, created_at + 3600000, 0, '[]' from tidemark_log_1`),
      fillDeadLetters: (id, group) =>
        execute(`
          insert into tidemark_dead_letter (
            topic_id, subscription_id, group_name, log_id, salt, created_at, payload, attempts, version, error, history, dead_at
          )
          select 1, ${id}, '${group}', id, salt, created_at, payload, 1, 1, '{"name":"Error","message":""}', '[]', created_at
          from tidemark_log_1`),
      fillLeases: id =>
        execute(`
          with recursive number(n) as (select 1 union all select n + 1 from number where n < ${ROWS})
          insert into tidemark_lease (token, subscription_id, consumer, kind, first_id, size, deadline, claimed_at, done_at)
          select 'ended ' || n, ${id}, 'c', 'page', n, 1, n, n, (select wall from tidemark_clock) from number`),
      expireLeases: id =>
        execute(`update tidemark_lease set deadline = 1 where subscription_id = ${id} and done_at is null`),
      makeRetriesDue: () => execute('update tidemark_retry set due_at = 1 where token is null'),
      loseRetried: id =>
        execute(`
          delete from tidemark_log_1 where id = (select min(id) from tidemark_retry where subscription_id = ${id})`),
      passHour: () =>
        execute(`
          update tidemark_log_1 set created_at = created_at - 4000000;
          update tidemark_log_2 set created_at = created_at - 4000000`),
      silence: group =>
        execute(`
          update tidemark_subscription set last_heartbeat_at = 1, misses = 5 where group_name = '${group}'`),
    })
    statements.begin('forget old leases')
    const connection = new Connection({ path, durability: 'process', busyTimeoutMs: 10_000 })
    await connection.write(false, () => forgetOldLeases(connection, Date.now(), ''))
    await connection.close()
    assert.ok(statements.ran.size > 100, `${statements.ran.size} statements`)
    const wrong: string[] = []
    for (const [sql, { step, times }] of statements.ran) {
      if (!/^\s*(select|insert|update|delete|with)/i.test(sql)) continue
      const fault = faultOf(sql, planOf(db, sql), times)
      if (fault !== undefined && !REVIEWED.some(([statement]) => statement.test(sql)))
        wrong.push(`${step}: ${fault}\n${sql}`)
    }
    assert.deepEqual(wrong, [])
  } finally {
    statements.restore()
    await store.close()
  }
})
