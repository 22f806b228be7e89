import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { whyNotApplicable } from './apply.ts'
import { AREAS } from './list.ts'
import { testFiles } from './run-tests.ts'

const ROOT = join(import.meta.dirname, '../..')
const MUTANTS = AREAS.flatMap(({ mutants }) => mutants)

describe('the kept mutants', () => {
  it('all apply: the text that each replaces occurs once in its file', () => {
    assert.deepEqual(
      MUTANTS.flatMap(mutant => whyNotApplicable(ROOT, mutant) ?? []),
      [],
    )
  })

  it('all name test files that exist', () => {
    assert.doesNotThrow(() => testFiles(ROOT, [...new Set(MUTANTS.flatMap(({ tests }) => tests))]))
  })

  it('have names of their own', () => {
    const names = AREAS.flatMap(({ name: area, mutants }) => mutants.map(({ name }) => `${area}: ${name}`))
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    )
  })

  it('are at least 80', () => {
    assert.ok(MUTANTS.length >= 80, `There are ${MUTANTS.length}`)
  })
})
