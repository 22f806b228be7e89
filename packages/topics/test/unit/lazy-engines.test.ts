import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { spawnScript } from '../../../../testing/processes.ts'

const script = new URL('scripts/loaded.ts', import.meta.url)

/** What a process of its own has loaded after it published and consumed there. */
async function loadedBy(url: string): Promise<string[]> {
  const process = spawnScript(script, [url])
  const { code } = await process.exited
  assert.equal(code, 0, process.errorLines.join('\n'))
  return JSON.parse(process.lines.at(-1) ?? '[]')
}

const packagesOf = (loaded: readonly string[]): string[] => loaded.filter(name => !name.startsWith('node:'))

describe('a program on SQLite', () => {
  it('loads no package at all', async () => {
    using folder = temporaryFolder()
    const loaded = await loadedBy(`sqlite:${folder.path}/app.db`)
    assert.deepEqual(packagesOf(loaded), [])
    assert.ok(loaded.includes('node:sqlite'))
  })
})

describe('a program on PostgreSQL', () => {
  it('loads pg, and neither node:sqlite nor another package that pg does not need', async () => {
    await using database = await migratedDatabase()
    const loaded = await loadedBy(database.url)
    assert.ok(loaded.includes('pg'))
    assert.ok(!loaded.includes('node:sqlite'), 'node:sqlite was loaded')
    assert.deepEqual(
      packagesOf(loaded).filter(name => !/^(pg|postgres)/.test(name) && !['xtend', 'split2'].includes(name)),
      [],
    )
  })
})
