import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES } from '../engines.ts'

for (const engine of ENGINES) {
  describe(`a statement on ${engine.name}`, () => {
    it('has numbered values that may be reused, and `run.` before its tables', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await database.transaction(async tx => {
        await tx.run('create table run.fact (tick bigint primary key, doubled bigint not null, name text not null)')
        await tx.run(
          'insert into run.fact (name, tick, doubled) values ($2, $1, 2 * cast($1 as bigint))',
          21,
          'price: $5',
        )
      })
      const rows = await database.read(
        'select f.* from run.fact as f where f.tick = $1 and f.name = $2',
        21,
        'price: $5',
      )
      assert.deepEqual({ ...(rows[0] as object) }, { tick: 21, doubled: 42, name: 'price: $5' })
    })
  })

  describe(`removed ticks on ${engine.name}`, () => {
    it('are recorded within a transaction that has the only connection', async () => {
      await using place = await engine.fresh()
      const database = await place.open({ poolSize: 1 })
      await database.transaction(tx => database.environmentTicks.prepare(tx))
      await database.transaction(tx => database.removedTicks.record({ tickStart: 5, tickEnd: 9 }, tx))
      await database.transaction(tx => database.removedTicks.record({ tickStart: 0, tickEnd: 9 }, tx))
      assert.deepEqual(await database.removedTicks.rangeOf(7), { tickStart: 0, tickEnd: 9 })
      assert.equal(await database.removedTicks.rangeOf(10), null)
    })
  })
}
