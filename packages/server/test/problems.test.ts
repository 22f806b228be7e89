import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
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
