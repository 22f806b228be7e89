import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../testing/until.ts'
import { soon } from '../../src/conformance/consuming.ts'
import { open } from '../../src/index.ts'
import { executePostgres, SHARED_STORES, SILENT, type TestDatabase } from '../conformance/stores.ts'
import { Network } from './network.ts'

const [postgres] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => postgres?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

/** Whoever has said `listen` last, by what its session runs or ran. */
const LISTENERS = `
  select count(*)::int as count from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()
    and (query like 'listen %' or query like '%pg_advisory_lock_shared%' or query = 'select 1')`
const OTHERS = `
  select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`

const count = async (database: TestDatabase, sql: string) =>
  Number((await executePostgres(database.url, sql))[0]?.count)

describe('the connection that listens', () => {
  it('is one, however often it is cut, also while it connects', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    const tm = await open(network.url, { logger: SILENT, maintenance: false, statementTimeout: '1s' })
    network.reset()
    network.most = 0
    // While it is being made, then where it would stay if others were made beside it.
    const fates = [
      { answers: 2, is: 'reset' },
      { answers: 3, is: 'reset' },
      { answers: 1, is: 'reset' },
      { answers: 2, is: 'reset' },
      { answers: 2, is: 'silence' },
      { answers: 1, is: 'silence' },
    ] as const
    for (const fate of fates) {
      network.fate = fate
      const { fates: before } = network
      await until(() => network.fates > before, { what: `a connection that meets its ${fate.is}` })
    }
    assert.equal(network.most, 1)
    network.fate = undefined
    await until(async () => (await count(database, LISTENERS)) === 1, { what: 'it to listen again' })
    await tm.close()
    await until(() => network.connections === 0, { what: 'every connection to be gone' })
    // The server learns now of those that were silent.
    network.reset()
    await until(async () => (await count(database, OTHERS)) === 0, { what: 'its side to be gone too' })
  })

  it('leaves no other connection behind, however often it was cut', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    const tm = await open(network.url, { logger: SILENT, maintenance: false })
    for (let cut = 1; cut <= 4; cut++) {
      network.reset()
      await until(async () => network.connections > 0 && (await count(database, LISTENERS)) === 1, {
        what: `it to listen again after cut ${cut}`,
      })
    }
    // The pool's were cut too, and nobody has asked for one since.
    await until(async () => (await count(database, OTHERS)) === 1, { what: 'the server to have this one alone' })
    assert.equal(network.connections, 1)
    await tm.close()
    await until(async () => (await count(database, OTHERS)) === 0, { what: 'the server to have none' })
  })

  it('is gone after a close() while it connects', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    for (const answers of [1, 2, 3]) {
      const tm = await open(network.url, { logger: SILENT, maintenance: false, statementTimeout: '1m' })
      network.fate = { answers, is: 'silence' }
      const { fates } = network
      network.reset()
      await until(() => network.fates > fates, { what: `a connection that is silent after ${answers} answers` })
      await soon(tm.close(), 'close() to end')
      await until(() => network.connections === 0, { what: 'every connection to be gone' })
      network.fate = undefined
      network.reset()
    }
    await until(async () => (await count(database, OTHERS)) === 0, { what: 'every connection to be gone' })
  })

  it('is replaced when the server does not answer on it, and again while that fails', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    const tm = await open(network.url, { logger: SILENT, maintenance: false, statementTimeout: '1s' })
    network.cut()
    network.reset()
    await until(() => network.connections > 0, { what: 'an attempt that is not answered' })
    await until(() => network.connections === 0, { what: 'it to be given up' })
    network.heal()
    await until(async () => (await count(database, LISTENERS)) === 1, { what: 'it to listen again' })
    await tm.close()
    await until(() => network.connections === 0, { what: 'every connection to be gone' })
  })
})
