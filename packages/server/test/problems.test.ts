import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import * as pipeline from '@tidemark/pipeline'
import * as tidemark from 'tidemark'
// Inside: errors that no real database gives on demand.
import { NotServedError } from '../src/errors.ts'
import { withoutPaths, withPlainErrors } from '../src/problems/http-words.ts'
import { toProblem } from '../src/problems/problem.ts'
import { STATUS_BY_CODE } from '../src/problems/statuses.ts'

/** A program's arguments, and the prefix of variables of the environment: nothing that a request can meet. */
const ELSEWHERE = ['TIDEMARK_START_ARGUMENT', 'TIDEMARK_PIPELINE__']

describe('the table of statuses', () => {
  it('knows every code that an error of this repository has', () => {
    const files = globSync('packages/{topics,pipeline,server}/src/**/*.ts', { cwd: `${import.meta.dirname}/../../..` })
    const codes = new Set<string>()
    for (const file of files) {
      const text = readFileSync(`${import.meta.dirname}/../../../${file}`, 'utf8')
      for (const [, code] of text.matchAll(/'(TIDEMARK_[A-Z_]+)'/g)) codes.add(code ?? '')
    }
    const missing = [...codes].filter(code => STATUS_BY_CODE[code] === undefined && !ELSEWHERE.includes(code))
    assert.ok(codes.size > 60)
    assert.deepEqual(missing, [])
  })
})

describe('responses to a client', () => {
  const RUN = '20260101-00000000-00000000-0000-4000-8000-000000000009'
  const cause = new Error("ENOENT: no such file, open '/srv/data/topics.db'")
  const errors = [
    new tidemark.TopicNotFoundError('orders'),
    new tidemark.PayloadTooLargeError('orders', 10, 5),
    new tidemark.BatchTooLargeError('orders', 3, 5),
    new tidemark.UnknownTypeError('type.googleapis.com/x'),
    new tidemark.StaleDeliveryError('orders', 'email', 'm1', 3),
    new tidemark.InvalidReceiptError('it is cut short'),
    new tidemark.TooManyGroupsError('orders', 0),
    new tidemark.ClosedError('The reader'),
    new tidemark.DatabaseUnreachableError('/srv/data/topics.db', cause),
    new tidemark.DatabaseRestoredError('localhost:5432/app'),
    new pipeline.IndexNotFoundError(RUN, '/srv/data/index/run_1.db'),
    new pipeline.IndexReadingError('/srv/data/index/run_1.db'),
    new pipeline.IndexFullError('/srv/data/index/run_1.db'),
    new pipeline.IndexLockedError('C:\\data\\index\\run_1.db', 50),
    new pipeline.NestedTransactionError('/srv/data/index/run_1.db'),
    new pipeline.StaleClaimError('key', 2, 'ready'),
    new pipeline.CorruptFileError('/srv/data/storage/batch_1_2.pb', 'is cut short'),
    new pipeline.StorageError('Writing', '/srv/data/storage/batch_1_2.pb', cause),
    new pipeline.StorageAwayError('/srv/data/storage', '.incoming', cause),
    new pipeline.StrategyError('/srv/my-strategy.ts', 'its default export is not a strategy'),
    new NotServedError('topics', 'topics'),
  ]
  for (const error of errors) {
    it(`of a ${error.name} names no library call and no path of the server's disk`, () => {
      const { detail, status } = toProblem(error)
      assert.ok(detail.length > 10 && status >= 400, detail)
      assert.doesNotMatch(detail, /\w\(|\btm\.|startServer|autoCreate|create: true|\{ tx \}/)
      assert.doesNotMatch(detail, /\/srv|C:\\/)
    })
  }

  it('of recorded errors names no path either, and leaves payloads alone', () => {
    const record = {
      payload: { error: '/srv/data/mine' },
      topic: 'orders',
      at: new Date(0),
      error: { name: 'Error', message: 'no /srv/data/x.db' },
      history: [{ attempt: 1, message: "open '/srv/data/x.db'" }],
      failing: [{ lastError: { message: 'at /srv/data/x.db' } }],
    }
    assert.deepEqual(withPlainErrors(record), {
      ...record,
      error: { name: 'Error', message: 'no …/x.db' },
      history: [{ attempt: 1, message: "open '…/x.db'" }],
      failing: [{ lastError: { message: 'at …/x.db' } }],
    })
  })

  it('leaves addresses, media types and what the client itself has asked for as they are', () => {
    for (const text of [
      'GET /api/v1/runs lists the runs',
      "allowed: 'postgres://user:password@host:port/database'",
      'Send application/x-protobuf and/or text/plain',
      'at localhost:5432/app',
      'batch 20260101-00000000-00000000-0000-4000-8000-000000000009/raw/000/000/batch_1_2.pb',
    ]) {
      assert.equal(withoutPaths(text), text)
    }
    assert.equal(withoutPaths('file:///srv/x.ts:3:4'), '…/x.ts:3:4')
    assert.equal(withoutPaths('sqlite:/srv/data/app.db is gone'), 'sqlite:…/app.db is gone')
  })
})
