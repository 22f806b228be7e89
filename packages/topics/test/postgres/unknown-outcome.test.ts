import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Client } from 'pg'
import { OutcomeUnknownError, open } from 'tidemark'
import { freshDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { range } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'
import { Network } from './network.ts'

it('a publish whose answer is lost is reported as unknown, and is not stored twice', async () => {
  const { url, drop } = await freshDatabase()
  const holder = new Client({ connectionString: url })
  await holder.connect()
  const counted = async (sql: string): Promise<number> => Number((await holder.query(sql)).rows[0]?.count)
  try {
    await using network = await Network.to(url)
    await using tm = await open(network.url, { logger: SILENT, maintenance: false })
    await tm.publish('work', 0)
    await holder.query('begin')
    await holder.query('lock table tidemark.log_1 in exclusive mode')
    const publishes = Promise.allSettled(range(1, 10).map(number => tm.publish('work', number)))
    const waiting = 'select count(*) from pg_locks where not granted'
    await until(async () => (await counted(waiting)) > 0, { what: 'the publish to arrive' })
    network.cut()
    await holder.query('rollback')
    const stored = 'select count(*) from tidemark.log_1'
    await until(async () => (await counted(stored)) === 11, { what: 'the publish to be stored' })
    network.heal()
    for (const outcome of await publishes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof OutcomeUnknownError)
      assert.match(outcome.reason.message, /may or may not be stored/)
    }
    await tm.publish('work', 11)
    assert.equal(await counted(stored), 12)
  } finally {
    await holder.end()
    await drop()
  }
})
