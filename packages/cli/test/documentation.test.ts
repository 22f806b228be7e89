import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { PAGE, referencePage } from '../cli-reference.ts'

describe('docs/cli.md', () => {
  it("is what the commands' tables say (if not: npm run generate)", () => {
    assert.equal(readFileSync(PAGE, 'utf8'), referencePage())
  })
})
