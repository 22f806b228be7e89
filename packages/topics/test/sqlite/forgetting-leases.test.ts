import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { receive } from '../../src/conformance/consuming.ts'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { forgetOldLeases } from '../../src/stores/sqlite/lease-expiry.ts'
import { SILENT } from '../conformance/stores.ts'

const HOUR = 3_600_000

it('a lease is forgotten an hour after it has ended, whether finished or expired, and never while it is live', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  const tm = await open(`sqlite:${path}`, { autoCreate: true, logger: SILENT })
  await tm.publishBatch('work', [1, 2, 3])
  for (const consumer of ['finished', 'expired', 'live']) await receive(tm.reader('work', { consumer, lease: 0 }))
  await tm.close()
  using db = new DatabaseSync(path)
  const leases = () =>
    db
      .prepare('select consumer from tidemark_lease order by consumer')
      .all()
      .map(row => row.consumer)
  const now = 10 * HOUR
  // Closing has released them; each gets the end that its name says.
  db.exec(`
    update tidemark_lease set done_at = null, expired_at = null, claimed_at = 1;
    update tidemark_lease set done_at = ${now - HOUR} where consumer = 'finished';
    update tidemark_lease set expired_at = ${now - HOUR} where consumer = 'expired'`)
  const connection = new Connection({ path, durability: 'process', busyTimeoutMs: 5_000 })
  await connection.prepareForUse()
  const forget = (at: number): Promise<string> => connection.write(false, tx => forgetOldLeases(tx, at, ''))
  await forget(now)
  assert.deepEqual(leases(), ['expired', 'finished', 'live'])
  await forget(now + 1)
  assert.deepEqual(leases(), ['live'])
  await forget(1_000 * HOUR)
  assert.deepEqual(leases(), ['live'])
  await connection.close()
})
