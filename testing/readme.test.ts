import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
// Inside: the one table that has every option of a topic by its name.
import { TOPIC_SETTINGS } from '../packages/pipeline/src/config/topic-settings.ts'

describe('README.md', () => {
  it('has every option of a topic in its table', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const [, table = ''] = /^\| option \| default \|.*?\n(.*?)\n\n/ms.exec(readme) ?? []
    const named = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? [])
    const missing = Object.keys(TOPIC_SETTINGS).filter(option => !named.includes(option))
    assert.deepEqual(missing, [], 'README.md has no row for these options. Add them to the table under "Configure"')
  })
})
