import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { open } from 'tidemark'
import { Disk } from '../../../../testing/disk.ts'
import { spawnScript } from '../../../../testing/processes.ts'
import { SILENT } from '../conformance/stores.ts'

const script = new URL('../../src/conformance/scripts/open-and-publish.ts', import.meta.url)
/** SQLite makes the index of the WAL with one byte in each of its eight pages, and has no room for the rest. */
const LEFT = 8 * 1_024

it('a full disk with small blocks does not end the process', async t => {
  const disk = await Disk.create()
  if (typeof disk === 'string') return t.skip(disk)
  await using _ = disk
  const url = `sqlite:${join(disk.path, 'app.db')}`
  await (await open(url, { logger: SILENT })).close()
  const published = async (): Promise<{ id?: number; code?: string }> => {
    await using process = spawnScript(script, [url])
    assert.deepEqual(await process.exited, { code: 0, signal: null })
    return JSON.parse(process.lines.join('')) as { id?: number; code?: string }
  }
  await disk.fill(LEFT)
  assert.equal((await published()).code, 'TIDEMARK_DATABASE_FULL')
  disk.free()
  assert.equal((await published()).id, 1)
})
