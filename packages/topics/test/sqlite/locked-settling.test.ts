import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { DatabaseError, DatabaseLockedError, open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { eventsOf, groupOf, happened, receive, soon } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

it('an ack() that is awaited while the file stays locked beyond busyTimeout resolves afterwards', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  await using tm = await open(`sqlite:${path}`, { autoCreate: true, busyTimeout: '20ms', logger: SILENT })
  await tm.publishBatch('work', [1, 2, 3])
  const reader = tm.reader('work', { batchSize: 2 })
  const page = [await receive(reader), await receive(reader)]
  const single = await receive(reader)
  const errors = eventsOf(tm, 'error')
  using other = new DatabaseSync(path)
  other.exec('begin immediate')
  // All of one page, and one of each kind of settlement.
  const settling = Promise.all([...page.map(delivery => delivery.ack()), single.nack('later', { delay: '1h' })])
  await happened(errors, 2, 'two attempts to fail')
  assert.ok(errors.every(({ action, error }) => action === 'settle' && error instanceof DatabaseLockedError))
  other.exec('rollback')
  await soon(settling, 'the settlements')
  const { inFlight, retries, backlog } = await groupOf(tm, 'work')
  assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 1, backlog: 0 })
})

it('a settlement that the database refuses does not hold up those that were sent with it', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  await using tm = await open(`sqlite:${path}`, { autoCreate: true, logger: SILENT })
  const [refused, good] = [tm.reader('refused'), tm.reader('good')]
  await tm.publish('refused', 1)
  await tm.publish('good', 1)
  const deliveries = [await receive(refused), await receive(good)]
  using other = new DatabaseSync(path)
  other.exec(`
    create trigger refuse before update of done_at on tidemark_lease
    when old.subscription_id = (select s.id from tidemark_subscription s join tidemark_topic t on t.id = s.topic_id where t.name = 'refused')
    begin select raise(abort, 'refused'); end`)
  const [first, second] = await soon(Promise.allSettled(deliveries.map(delivery => delivery.ack())), 'both answers')
  assert.ok(first?.status === 'rejected' && first.reason instanceof DatabaseError)
  assert.equal(second?.status, 'fulfilled')
  other.exec('drop trigger refuse')
})
