/** Settlements that the database refuses for a while: triggers do that, so these tests write each engine's SQL. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DatabaseError, DatabaseFullError, OutcomeUnknownError } from 'tidemark'
import { until } from '../../../../testing/until.ts'
import { eventsOf, groupOf, receive } from '../../src/conformance/consuming.ts'
import { SHARED_STORES, type Statement } from './stores.ts'

/** SQLite can't raise its error of a full disk by hand. */
const REFUSE: Statement = {
  sqlite: `create trigger refuse before update of done_at on tidemark_lease
           begin select raise(abort, 'refused'); end`,
  postgres: `create function refuse() returns trigger language plpgsql as $$
               begin raise exception 'refused' using errcode = '53100'; end $$;
             create trigger refuse before update on tidemark.lease for each row execute function refuse()`,
}
const REFUSE_THE_FIRST: Statement = {
  sqlite: `create trigger refuse before update of done_at on tidemark_lease when new.subscription_id = 1
           begin select raise(abort, 'refused'); end`,
  postgres: `create function refuse() returns trigger language plpgsql as $$
               begin raise exception 'refused'; end $$;
             create trigger refuse before update on tidemark.lease for each row
               when (new.subscription_id = 1) execute function refuse()`,
}
const ACCEPT: Statement = { sqlite: 'drop trigger refuse', postgres: 'drop function refuse() cascade' }

for (const store of SHARED_STORES) {
  describe(store.name, () => {
    it('says of a refused ack() that it may be stored, because it is tried again', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      await tm.publish('work', 1)
      const delivery = await receive(tm.reader('work'))
      await database.execute(REFUSE)
      await assert.rejects(delivery.ack(), (error: unknown) => {
        assert.ok(error instanceof OutcomeUnknownError, String(error))
        assert.ok(error.cause instanceof (store.name === 'PostgreSQL' ? DatabaseFullError : DatabaseError))
        assert.match(error.message, /tried again in the background .*may or may not be stored/s)
        return true
      })
      await database.execute(ACCEPT)
      await until(async () => (await groupOf(tm, 'work')).inFlight === 0, { what: 'the ack to be stored' })
    })

    it('reports one outage until it is stored, although others are stored meanwhile', async () => {
      await using database = await store.fresh()
      const tm = await database.open()
      const events = [eventsOf(tm, 'outage'), eventsOf(tm, 'outage-ended')]
      await tm.publish('refused', 1)
      const refused = await receive(tm.reader('refused'))
      await tm.publish('work', 1)
      const other = await receive(tm.reader('work'))
      await database.execute(REFUSE_THE_FIRST)
      await assert.rejects(refused.ack(), OutcomeUnknownError)
      await other.ack()
      assert.deepEqual(
        events.map(each => each.length),
        [1, 0],
      )
      assert.equal(tm.metrics().outages[0]?.kind, 'settle')
      await database.execute(ACCEPT)
      await until(async () => (await groupOf(tm, 'refused')).inFlight === 0, { what: 'the ack to be stored' })
      await until(() => events[1]?.length === 1, { what: 'the end of the outage' })
      assert.equal(events[0]?.length, 1)
    })
  })
}
