import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { PAGE, referencePage } from '../cli-reference.ts'
// Inside: the table of commands, to ask all of them.
import { COMMANDS } from '../src/commands.ts'

describe('docs/reference/cli.md', () => {
  it("matches the commands' tables (if not: npm run generate)", () => {
    assert.equal(readFileSync(PAGE, 'utf8'), referencePage())
  })

  it('has a section for every command', () => {
    const sections = new Set(readFileSync(PAGE, 'utf8').split('\n'))
    const missing = COMMANDS.filter(({ name }) => !sections.has(`## ${name}`) && !sections.has(`### ${name}`))
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
    )
  })
})
