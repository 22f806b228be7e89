/** Leases that have ended are deleted by the claims that follow: only the tables show that, so these tests read them. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { receive } from '../../src/conformance/consuming.ts'
import { SHARED_STORES, type TestDatabase } from './stores.ts'

for (const store of SHARED_STORES) {
  describe(`an ended lease on ${store.name}`, () => {
    it('is deleted by the next claim that finds something, however many found nothing before', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      // Not full, so that the next claim looks before it writes.
      const reader = tm.reader('work', { batchSize: 2 })
      await tm.publish('work', 1)
      await (await receive(reader)).ack()
      for (let look = 0; look < 3; look++) assert.equal(await reader.poll(0), null)
      await tm.publish('work', 2)
      await receive(reader)
      assert.equal(await leases(database), 1)
    })

    it('is deleted by the next claim that succeeds, however many failed before', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      const reader = tm.reader('work')
      await tm.publish('work', 1)
      await (await receive(reader)).ack()
      await tm.publish('work', 2)
      const fault = await database.breakDown('claim')
      await assert.rejects(reader.poll(0))
      await fault.mend()
      await receive(reader)
      assert.equal(await leases(database), 1)
    })
  })
}

async function leases(database: TestDatabase): Promise<number> {
  const [row] = await database.execute({
    sqlite: 'select count(*) as count from tidemark_lease',
    postgres: 'select count(*)::int as count from tidemark.lease',
  })
  return Number(row?.count)
}
