import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES } from '../engines.ts'
import { metadataOf } from '../indexes/ticks.ts'

const postgres = ENGINES.find(({ name }) => name === 'PostgreSQL') ?? assert.fail()

describe('statements that a PostgreSQL connection has prepared', () => {
  it('may be gone, as behind a pooler: reads work without them', async () => {
    await using place = await postgres.fresh()
    const database = await place.open({ poolSize: 1 })
    await database.metadata.write(metadataOf(place.runId))
    assert.equal((await database.metadata.read())?.seed, '7')
    const prepared = 'select 1 from pg_prepared_statements'
    const count = async () => await database.transaction(async tx => (await tx.rows(prepared)).length)
    assert.ok((await count()) > 0)
    await database.transaction(tx => tx.run('deallocate all'))
    assert.equal((await database.metadata.read())?.seed, '7')
    assert.equal((await database.metadata.read())?.seed, '7')
    // From now on there are none to lose.
    assert.equal(await count(), 0)
  })

  it('have names that identify them, no matter who prepared them', async () => {
    await using place = await postgres.fresh()
    // Who makes the tables has other statements behind it than who finds them.
    await place.open({ poolSize: 1 })
    const [one, two] = await Promise.all([place.open({ poolSize: 1 }), place.open({ poolSize: 1 })])
    const names = async (database: typeof one) => {
      await database.metadata.read()
      const rows = await database.transaction(tx =>
        tx.rows<{ name: string; statement: string }>('select name, statement from pg_prepared_statements order by 2'),
      )
      return rows.map(({ name, statement }) => `${name} ${statement}`)
    }
    assert.deepEqual(await names(one), await names(two))
  })
})
