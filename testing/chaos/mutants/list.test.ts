import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { MUTANTS } from './list.ts'

const ROOT = join(import.meta.dirname, '../../..')

describe('the mutants of npm run chaos', () => {
  it('all apply: the text that each replaces occurs once in its file', () => {
    const edits = MUTANTS.flatMap(({ name, edits }) => edits.map(edit => ({ name, ...edit })))
    assert.deepEqual(
      edits.filter(({ file, from }) => readFileSync(join(ROOT, file), 'utf8').split(from).length !== 2),
      [],
    )
  })
})
