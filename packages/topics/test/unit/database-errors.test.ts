import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DatabaseError,
  DatabaseFullError,
  DatabaseLockedError,
  DatabaseReadOnlyError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  TidemarkError,
} from '../../src/errors.ts'
import * as postgres from '../../src/stores/postgres/database-errors.ts'
import * as sqlite from '../../src/stores/sqlite/sqlite-errors.ts'

const coded = (code: string, message = 'refused'): Error => Object.assign(new Error(message), { code })
const numbered = (errcode: number): Error => Object.assign(new Error('refused'), { errcode })

describe('an error of PostgreSQL', () => {
  const classOf = (error: Error): unknown => postgres.mapError(error, 'there').constructor

  it('that says that the server is away is a database that can’t be reached', () => {
    const away = ['57P01', '57P02', '57P03', '57P05', '25P03', '53300', '08006', '08001', 'ECONNRESET', 'ECONNREFUSED']
    for (const code of away) assert.equal(classOf(coded(code)), DatabaseUnreachableError, code)
    for (const text of ['Connection terminated unexpectedly', 'timeout expired']) {
      assert.equal(classOf(new Error(text)), DatabaseUnreachableError, text)
    }
  })

  it('has a class of its own for what a program can react to', () => {
    assert.equal(classOf(coded('25006')), DatabaseReadOnlyError)
    assert.equal(classOf(coded('55P03')), DatabaseLockedError)
    assert.equal(classOf(coded('57014')), DatabaseTimeoutError)
    assert.equal(classOf(coded('53100')), DatabaseFullError)
    assert.equal(classOf(coded('53200')), DatabaseFullError)
    assert.equal(classOf(coded('23505')), DatabaseError)
  })

  it('leaves the outcome open only if the statement may have been executed', () => {
    const mayHave = (error: Error): boolean => postgres.mayHaveHappened(postgres.mapError(error, 'there'))
    // Nothing was sent, or the server said that it refused.
    const certain = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', '57P03', '53300', '08001', '08004', '23505', '57014']
    for (const code of certain) assert.equal(mayHave(coded(code)), false, code)
    for (const code of ['ECONNRESET', 'EPIPE', '57P01', '08006']) assert.equal(mayHave(coded(code)), true, code)
    assert.equal(mayHave(new Error('timeout exceeded when trying to connect')), false)
    assert.equal(mayHave(new Error('Connection terminated unexpectedly')), true)
    assert.equal(postgres.mayHaveHappened(new Error('of somebody else')), true)
  })

  it('that rolled a transaction back for another one’s sake is worth a repetition, and no other is', () => {
    assert.ok(postgres.isTransient(coded('40001')) && postgres.isTransient(coded('40P01')))
    for (const code of ['23505', '57014', '57P01', '25P02']) assert.equal(postgres.isTransient(coded(code)), false)
  })
})

describe('an error of SQLite', () => {
  const classOf = (error: Error): unknown => (sqlite.mapError(error, 'app.db') as Error).constructor
  const [BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL] = [5, 6, 8, 10, 11, 13]

  it('that is busy is waited for, whichever kind, extended codes included', () => {
    for (const code of [BUSY, LOCKED, BUSY | (2 << 8), LOCKED | (1 << 8)]) {
      assert.ok(sqlite.isBusy(numbered(code)), String(code))
      assert.equal(classOf(numbered(code)), DatabaseLockedError)
    }
    assert.ok(sqlite.isBusy(coded('SQLITE_BUSY_SNAPSHOT')) && sqlite.isBusy(coded('SQLITE_LOCKED')))
    for (const code of [READONLY, IOERR, CORRUPT, FULL]) assert.equal(sqlite.isBusy(numbered(code)), false)
  })

  it('has a class of its own for what a program can react to', () => {
    assert.equal(classOf(numbered(READONLY | (1 << 8))), DatabaseReadOnlyError)
    assert.equal(classOf(numbered(FULL)), DatabaseFullError)
    assert.equal(classOf(coded('SQLITE_FULL')), DatabaseFullError)
    assert.equal(classOf(coded('ENOSPC')), DatabaseFullError)
    // No room for the index of the WAL.
    assert.equal(classOf(numbered(IOERR | (19 << 8))), DatabaseFullError)
    assert.equal(classOf(coded('SQLITE_IOERR_SHMSIZE')), DatabaseFullError)
    assert.equal(classOf(coded('SQLITE_IOERR_WRITE')), DatabaseError)
    assert.equal(classOf(coded('EACCES')), DatabaseReadOnlyError)
    assert.equal(classOf(numbered(CORRUPT)), DatabaseError)
    assert.equal(classOf(numbered(IOERR)), DatabaseError)
  })

  it('that is Tidemark’s own passes unchanged', () => {
    const own = new TidemarkError('TIDEMARK_CLOSED', 'closed')
    assert.equal(sqlite.mapError(own, 'app.db'), own)
    assert.equal(postgres.mapError(own, 'there'), own)
  })
})
