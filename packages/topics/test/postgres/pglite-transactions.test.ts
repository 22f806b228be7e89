import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { open, type Tidemark, TransactionError, type TransactionHandle } from 'tidemark'
import { pglite } from 'tidemark/drivers'
import { soon } from '../../src/conformance/consuming.ts'

const stored = async (tm: Tidemark): Promise<unknown[]> =>
  (await tm.admin.browse('work')).messages.map(({ payload }) => JSON.parse(String(payload)))

const undone = new Error('undone on purpose')

describe('a transaction of PGlite, whose one connection Tidemark shares', () => {
  it('publishes if and only if it commits, also through Drizzle', async () => {
    const db = new PGlite()
    const tm = await open({ driver: pglite(db) })
    await tm.configureTopic('work')
    await tm.configureTopic('tracked', { semantics: 'pub-sub', tracking: 'reference' })
    type Transaction = (work: (tx: TransactionHandle) => Promise<void>) => Promise<unknown>
    const libraries: Record<string, Transaction> = {
      PGlite: work => db.transaction(work),
      Drizzle: work => drizzle(db).transaction(work),
    }
    for (const [library, transaction] of Object.entries(libraries)) {
      const kept = transaction(async tx => {
        await tm.publish('work', `${library} kept`, { tx })
        await tm.publishMessages('work', [{ payload: `${library} too`, key: 'k', messageId: library }], { tx })
        await tm.publish('tracked', 1, { tx })
      })
      await soon(kept, 'a transaction that commits')
      const rolledBack = transaction(async tx => {
        await tm.publish('work', `${library} undone`, { tx })
        throw undone
      })
      await soon(assert.rejects(rolledBack, undone), 'a transaction that is rolled back')
    }
    for (const tx of [db, drizzle(db)]) {
      await soon(assert.rejects(tm.publish('work', 'outside', { tx }), TransactionError), 'a refusal')
    }
    const names = Object.keys(libraries)
    assert.deepEqual(
      await stored(tm),
      names.flatMap(name => [`${name} kept`, `${name} too`]),
    )
    await tm.close()
    await db.close()
  })

  it('says that a topic has to exist before, instead of deadlocking', async () => {
    const db = new PGlite()
    // On a busy machine it takes PGlite longer than that to create the tables.
    await (await open({ driver: pglite(db) })).close()
    const tm = await open({ driver: pglite(db) }, { statementTimeout: '2s' })
    const publishing = db.transaction(async tx => {
      await tm.publish('new', 1, { tx })
    })
    await soon(assert.rejects(publishing, /Create it with configureTopic\('new'\) before/), 'the publish to be refused')
    await tm.close()
    await db.close()
  })
})
