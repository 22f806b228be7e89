/** A message that was deleted from the log by hand: its neighbours are settled under their own slots. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { consume, groupOf, receive } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

it('a page with a gap acks and nacks the right messages, and is finished without the missing one', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  await using tm = await open(`sqlite:${path}`, { autoCreate: true, logger: SILENT })
  await tm.publishBatch('work', [1, 2, 3])
  using db = new DatabaseSync(path, { timeout: 5_000 })
  db.exec('delete from tidemark_log_1 where id = 2')
  const reader = tm.reader('work', { batchSize: 3 })
  const [one, three] = [await receive(reader), await receive(reader)]
  assert.deepEqual([one.payload, three.payload], [1, 3])
  await three.nack('later', { delay: 0 })
  await one.ack()
  assert.deepEqual(await consume(reader, 1), [3])
  const { inFlight, retries, backlog } = await groupOf(tm, 'work')
  assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
})
