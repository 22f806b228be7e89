import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Client } from 'pg'
import { DatabaseTimeoutError, open } from 'tidemark'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { eventsOf, groupOf, happened, receive, soon } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

it('an ack() that is awaited while its lease is locked beyond statementTimeout resolves afterwards', async () => {
  await using database = await migratedDatabase()
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  try {
    await using tm = await open(database.url, { autoCreate: true, statementTimeout: '300ms', logger: SILENT })
    await tm.publish('work', 1)
    const delivery = await receive(tm.reader('work'))
    const errors = eventsOf(tm, 'error')
    await holder.query('begin')
    await holder.query('select from tidemark.lease for update')
    const acking = delivery.ack()
    await happened(errors, 1, 'an attempt to fail')
    assert.ok(errors.every(({ action, error }) => action === 'settle' && error instanceof DatabaseTimeoutError))
    await holder.query('rollback')
    await soon(acking, 'the ack')
    assert.equal((await groupOf(tm, 'work')).inFlight, 0)
  } finally {
    await holder.end()
  }
})

it('a claim does not wait for an expired lease that is being settled, and forgets those that ended an hour ago', async () => {
  await using database = await migratedDatabase()
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  try {
    await using tm = await open(database.url, { autoCreate: true, statementTimeout: '2s', logger: SILENT })
    await tm.publishBatch('work', [1, 2, 3])
    const delivery = await receive(tm.reader('work'))
    await holder.query("update tidemark.lease set deadline = timestamptz '2001-01-01'")
    await holder.query('begin')
    await holder.query('select from tidemark.lease for update')
    const other = tm.reader('work', { batchSize: 2 })
    assert.equal((await receive(other)).payload, 2)
    await holder.query('rollback')
    await delivery.ack()
    const ended = async () => (await holder.query('select from tidemark.lease where done_at is not null')).rowCount
    await other.poll(0)
    await tm.reader('work').poll(0)
    assert.equal(await ended(), 1)
    await holder.query("update tidemark.lease set done_at = done_at - interval '61 minutes' where done_at is not null")
    await tm.publish('work', 4)
    await receive(tm.reader('work'))
    assert.equal(await ended(), 0)
  } finally {
    await holder.end()
  }
})
