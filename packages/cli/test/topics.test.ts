import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GroupHealth, StoredMessage, TopicSummary } from 'tidemark'
import { open } from 'tidemark'
import { until } from '../../../testing/until.ts'
import { EXIT } from '../src/exit-codes.ts'
import { tidemark, tidemarkJson } from './command.ts'
import { ENGINES, QUIET } from './engines.ts'

for (const { engine, fresh } of ENGINES) {
  describe(`topics and messages, on ${engine}`, () => {
    it('are created, listed, published to, browsed and deleted', async () => {
      await using database = await fresh()
      const run = (...args: string[]) => tidemark(args, { database: database.url })
      const json = <T>(...args: string[]) => tidemarkJson<T>(args, { database: database.url })

      const before = await tidemark(['migrate', '--check', '--json'], { database: database.url })
      assert.equal(before.code, EXIT.found)
      assert.equal(JSON.parse(before.out).versions[0].found, 0)
      assert.equal((await json<{ migrated: boolean }>('migrate')).migrated, true)
      assert.equal((await json<{ migrated: boolean }>('migrate')).migrated, false)

      const settings = [
        '--semantics',
        'pub-sub',
        '--retention',
        'forever',
        '--max-attempts',
        '3',
        '--max-retention',
        'none',
      ]
      const made = await json<{ created: boolean }>('topics', 'configure', 'orders', ...settings)
      assert.equal(made.created, true)
      const [topic] = await json<TopicSummary[]>('topics', 'list')
      assert.equal(topic?.config.maxAttempts, 3)
      assert.equal(topic?.config.retentionMs, null)
      assert.match((await run('topics', 'list')).out, /orders +pub-sub +offset +forever +none/)

      const options = ['--key', 'k', '--header', 'a=b=c', '--message-id', 'one']
      const ref = await json<{ duplicate: boolean }>('publish', 'orders', '{"n":1}', ...options)
      assert.equal(ref.duplicate, false)
      assert.match((await run('publish', 'orders', '{"n":1}', '--message-id', 'one')).out, /one \(already stored\)/)
      const input = ['2', '', '"three"', 'not json', '5'].join('\n')
      const wrong = await tidemark(['publish', 'orders'], { database: database.url, input })
      assert.equal(wrong.code, EXIT.usage)
      assert.match(wrong.err, /Line 4 is not valid JSON/)
      const text = await tidemark(['publish', 'orders', '--text', '--json'], { database: database.url, input })
      assert.equal(JSON.parse(text.out).published, 4)

      const { out } = await run('tail', 'orders', '--last', '3', '--once', '--json')
      const tail: StoredMessage[] = out
        .trim()
        .split('\n')
        .map(line => JSON.parse(line))
      assert.deepEqual(
        tail.map(({ payload }) => payload),
        ['"three"', 'not json', '5'],
      )
      const [one] = (await run('tail', 'orders', '--last', '9', '--key', 'k', '--once', '--json')).out
        .trim()
        .split('\n')
      assert.deepEqual(JSON.parse(one ?? '').payload, { n: 1 })
      assert.deepEqual(JSON.parse(one ?? '').headers, { a: 'b=c' })

      const unsure = await run('topics', 'delete', 'orders')
      assert.equal(unsure.code, EXIT.unconfirmed)
      assert.match(unsure.err, /use --yes/)
      assert.equal((await json<TopicSummary[]>('topics', 'list')).length, 1)
      assert.equal((await run('topics', 'delete', 'orders', '--yes')).code, 0)
      assert.equal((await run('topics', 'delete', 'orders', '--yes')).code, EXIT.failed)
      assert.deepEqual(await json('topics', 'list'), [])
    })

    it('has one group in a queue, which needs no name', async () => {
      await using database = await fresh()
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.configureTopic('jobs')
      await tm.publish('jobs', 1)
      await tm.reader('jobs').poll(0)
      const { code, out } = await tidemark(['groups', 'pause', 'jobs'], { database: database.url })
      assert.equal(code, 0)
      assert.equal(out, "queue 'jobs' is paused\n")
      assert.equal((await tm.admin.groups('jobs'))[0]?.status, 'PAUSED')
    })

    it('lists the consumers of a group, and what waits to be retried', async () => {
      await using database = await fresh()
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      await tm.publishBatch('jobs', [1, 2])
      const reader = tm.reader('jobs', { consumer: 'worker-1', heartbeat: { interval: 10 } })
      const [first, second] = [await reader.receive(), await reader.receive()]
      await first.ack()
      await second.nack(new RangeError('no such mailbox'), { delay: '1h' })
      const json = <T>(...args: string[]) => tidemarkJson<T>(args, { database: database.url })
      const [waiting] = await json<{ id: number; attempts: number; dueAt: string }[]>('groups', 'retries', 'jobs')
      assert.deepEqual([waiting?.id, waiting?.attempts], [second.id, 1])
      assert.match(
        (await tidemark(['groups', 'retries', 'jobs'], { database: database.url })).out,
        /RangeError: no such/,
      )
      assert.deepEqual(await json('groups', 'retries', 'jobs', '--after', String(second.id)), [])
      await until(
        async () => {
          const [worker] = await json<{ consumer: string; processed: number }[]>('groups', 'consumers', 'jobs')
          return worker?.consumer === 'worker-1' && worker.processed === 1
        },
        { what: 'the heartbeat to tell' },
      )
      const { out } = await tidemark(['groups', 'consumers', 'jobs'], { database: database.url })
      assert.match(out, /\(queue\) +worker-1 .+ 1 +1 /)
    })

    it('switches the tracking of a topic that exists', async () => {
      await using database = await fresh()
      await using tm = await open(database.url, { namespace: 'other', maintenance: false })
      await tm.configureTopic('orders', { semantics: 'pub-sub' })
      await tm.publish('orders', 1)
      const namespace = ['--namespace', 'other']
      const args = ['topics', 'configure', 'orders', '--tracking', 'reference', ...namespace]
      assert.equal((await tidemark(args, { database: database.url })).code, 0)
      const shown = await tidemarkJson<{ config: { tracking: string } }>(
        ['topics', 'describe', 'orders', ...namespace],
        {
          database: database.url,
        },
      )
      assert.equal(shown.config.tracking, 'reference')
    })
  })

  describe(`groups, dead letters and backfills, on ${engine}`, () => {
    it('are shown and controlled', async () => {
      await using database = await fresh()
      await using tm = await open(database.url, { maintenance: false, logger: QUIET })
      const run = (...args: string[]) => tidemark(args, { database: database.url })
      const json = <T>(...args: string[]) => tidemarkJson<T>(args, { database: database.url })
      const statusOf = async (group: string) =>
        (await tm.admin.groups('orders')).find(each => each.group === group)?.status
      await tm.configureTopic('orders', {
        semantics: 'pub-sub',
        tracking: 'reference',
        maxAttempts: 1,
        retention: 'forever',
      })
      const email = tm.consumerGroup('orders', 'email')
      email.addConsumer('email-1', () => {
        throw new RangeError('no such mailbox')
      })
      await email.start({ from: 'beginning', heartbeat: { interval: '50ms', timeout: '100ms', misses: 1 } })
      await tm.publishBatch('orders', [1, 2, 3])
      await until(async () => (await tm.admin.deadLetters('orders')).length === 3, { what: 'dead letters' })
      await email.stop()

      const [group] = await json<GroupHealth[]>('groups', 'list')
      assert.equal(group?.deadLetters, 3)
      await run('groups', 'pause', 'orders', 'email')
      assert.equal(await statusOf('email'), 'PAUSED')
      await run('groups', 'resume', 'orders', 'email')
      assert.equal(await statusOf('email'), 'ACTIVE')
      assert.equal((await run('groups', 'resume', 'orders', 'nobody')).code, EXIT.failed)
      await until(
        async () => {
          await tm.admin.jobs['dead-groups'].runOnce()
          return (await statusOf('email')) === 'DEAD'
        },
        { what: 'the group to be dead' },
      )
      assert.equal((await run('groups', 'resurrect', 'orders', 'email', '--from-now')).code, 0)
      assert.equal(await statusOf('email'), 'ACTIVE')
      assert.equal((await run('groups', 'resurrect', 'orders', 'email')).code, EXIT.failed)
      assert.match(
        (await run('groups', 'acknowledge-loss', 'orders', 'email')).out,
        /had 0 unacknowledged lost messages/,
      )

      const letters = await json<{ id: number; payload: number }[]>(
        'dead-letters',
        'list',
        'orders',
        '--group',
        'email',
      )
      assert.deepEqual(
        letters.map(({ payload }) => payload),
        [1, 2, 3],
      )
      const [first, second] = letters.map(({ id }) => String(id))
      const shown = await run('dead-letters', 'inspect', 'orders', first ?? '')
      assert.match(shown.out, /RangeError: no such mailbox/)
      assert.equal((await run('dead-letters', 'inspect', 'orders', '999')).code, EXIT.failed)
      assert.equal((await run('dead-letters', 'redrive', 'orders')).code, EXIT.usage)
      const [kind] = JSON.parse((await run('dead-letters', 'errors', 'orders', '--json')).out)
      const dry = await run('dead-letters', 'redrive', 'orders', '--fingerprint', kind.fingerprint, '--dry-run')
      assert.match(dry.out, new RegExp(`^Matching dead letters: ${kind.count}\n`))
      assert.match((await run('dead-letters', 'redrive', 'orders', first ?? '')).out, /^Dead letters redriven: 1/)
      assert.equal((await run('dead-letters', 'discard', 'orders', second ?? '')).code, EXIT.unconfirmed)
      assert.match(
        (await run('dead-letters', 'discard', 'orders', second ?? '', '--yes')).out,
        /^Dead letters deleted: 1/,
      )
      const rest = await json<{ discarded: number }>('dead-letters', 'discard', 'orders', '--all', '--yes')
      assert.equal(rest.discarded, 1)

      await tm.publish('jobs', 1)
      const holder = tm.reader('jobs', { consumer: 'stuck', lease: 0 })
      const held = await holder.receive()
      const { claims } = await json<{ claims: { id: string; consumer: string }[] }>('claims', 'list', 'jobs')
      assert.deepEqual(
        claims.map(({ consumer }) => consumer),
        ['stuck'],
      )
      assert.match((await run('claims', 'list', 'jobs')).out, /stuck .* never /)
      const releasing = ['claims', 'release', 'jobs', claims[0]?.id ?? '']
      assert.match((await run(...releasing)).out, /^Claim of 'stuck' released, messages to redeliver: 1/)
      assert.equal((await run(...releasing)).code, EXIT.failed)
      await assert.rejects(held.ack(), { code: 'TIDEMARK_STALE_DELIVERY' })
      await holder.close()

      const late = tm.reader('orders', { group: 'late', from: 'now' })
      await late.poll(0)
      const filled = await json<{ status: string; processed: number }>('backfill', 'start', 'orders', 'late')
      assert.equal(filled.status, 'COMPLETED')
      assert.equal(filled.processed, 3)
      assert.match((await run('backfill', 'progress', 'orders', 'late')).out, /█ 100 % {2}COMPLETED {2}3 messages/)
      assert.equal((await run('backfill', 'cancel', 'orders', 'late')).code, EXIT.failed)
      assert.equal((await late.receive()).payload, 1)
      await late.close()

      await run('groups', 'reset', 'orders', 'late', '--to', 'now')
      const lags = async () =>
        (await json<GroupHealth[]>('groups', 'list', 'orders')).find(each => each.group === 'late')
      assert.equal((await lags())?.lagMessages, 0)
      assert.equal((await run('groups', 'cancel', 'orders', 'late')).code, EXIT.unconfirmed)
      assert.equal((await run('groups', 'cancel', 'orders', 'late', '--yes')).code, 0)
      assert.equal(await statusOf('late'), 'CANCELLED')
      assert.equal((await run('groups', 'remove', 'orders', 'late', '--yes')).code, 0)
      assert.equal(await statusOf('late'), undefined)
      const orphans = await json<{ completed: number }>(
        'groups',
        'force-complete',
        'orders',
        '--older-than',
        '0s',
        '--yes',
      )
      assert.equal(typeof orphans.completed, 'number')
    })
  })
}
