import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ConfigError, diagnose, InvalidNameError, migrate, repair, schemaVersions } from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function operating({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, needs(store, 'operator'), () => {
      describe('a namespace that nobody has open', () => {
        it('is created by migrate, once, and by no read-only call', async () => {
          await using database = await store.fresh()
          const fresh = { namespace: 'fresh' }
          const { newest, location, hasFunctions } = await schemaVersions(database.url, fresh)
          assert.ok(newest > 0)
          await diagnose(database.url, fresh)
          const before = { location, found: 0, newest, hasFunctions }
          assert.deepEqual(await schemaVersions(database.url, fresh), before)
          assert.deepEqual(await migrate(database.url, fresh), before)
          assert.deepEqual(await migrate(database.url, fresh), { location, found: newest, newest, hasFunctions: true })
          assert.equal((await schemaVersions(database.url, { namespace: 'other' })).found, 0)
          const tm = await database.open(fresh)
          assert.deepEqual(await tm.admin.topics(), [])
        })

        it('has nothing to repair if nothing is wrong', async () => {
          await using database = await store.fresh()
          const { location } = await migrate(database.url)
          const sound = { location, problems: [], changes: [], mended: true }
          assert.deepEqual(await repair(database.url), sound)
          assert.deepEqual(await repair(database.url), sound)
        })

        it('refuses unknown options and names', async () => {
          await using database = await store.fresh()
          for (const work of [migrate, repair, diagnose, schemaVersions]) {
            const unknown = { nmespace: 'x' } as object
            await assert.rejects(work(database.url, unknown), ConfigError)
            await assert.rejects(work(database.url, { namespace: '../x' }), InvalidNameError)
            await assert.rejects(work('mysql://root:secret@host/db'), error => {
              assert.ok(error instanceof ConfigError)
              return !error.message.includes('secret')
            })
          }
        })
      })

      describe('diagnose', () => {
        it('lists what needs attention, and what to do', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('orders', { semantics: 'pub-sub' })
          await tm.reader('orders', { group: 'email', from: 'beginning' }).poll(0)
          await tm.publish('orders', 1)
          const states = async (limits = {}) =>
            Object.fromEntries(
              (await diagnose(database.url, { health: limits })).map(({ check, state }) => [check, state] as const),
            )
          const well = await states()
          assert.equal(well.heartbeats, 'ok')
          assert.equal(well['stuck messages'], 'ok')
          assert.equal((await states({ stuckAfter: 0 }))['stuck messages'], 'warn')
          await database.ageGroups(290_000)
          assert.equal((await states()).heartbeats, 'warn')
          await database.ageGroups(10 * 300_000)
          // A heartbeat of the reader may come in between, and starts the count anew.
          await until(
            async () => {
              await tm.admin.jobs['dead-groups'].runOnce()
              await database.ageGroups(300_000)
              return (await tm.admin.groups('orders')).every(({ status }) => status === 'DEAD')
            },
            { what: 'the group to be dead' },
          )
          const after = await states()
          assert.equal(after['dead groups'], 'warn')
          assert.equal(after.consistency, 'ok')
          await assert.rejects(diagnose(database.url, { health: { stuckAfter: 'soon' as '1s' } }), ConfigError)
        })
      })
    })
  }
}
