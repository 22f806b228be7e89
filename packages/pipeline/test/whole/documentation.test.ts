import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

const HOME = new URL('../../', import.meta.url)

describe('docs/guides/pipeline.md', () => {
  it('names files that are there', () => {
    const page = readFileSync(new URL('../../docs/guides/pipeline.md', HOME), 'utf8')
    const named = [...page.matchAll(/`([a-z/-]+\/[a-z.-]+\.ts)`/g)].map(([, path = '']) => path)
    assert.ok(named.length > 20)
    const missing = named.filter(path => !existsSync(new URL(path.startsWith('test/') ? path : `src/${path}`, HOME)))
    assert.deepEqual(missing, [])
  })
})
