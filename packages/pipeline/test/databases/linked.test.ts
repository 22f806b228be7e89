import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dropIndex, IndexOutsideError, indexVersions, makeRunId, openIndex } from '@tidemark/pipeline'
import { temporaryFolder } from '../../../../testing/databases.ts'
// Inside: a run’s index opens such a connection itself, and offers none of its statements.
import { openIndexForReading } from '../../src/databases/open-index.ts'
import { schemaOf } from '../engines.ts'

describe('an index that is a symbolic link to another folder', () => {
  for (const exists of [true, false]) {
    it(`is neither read, written nor removed (${exists ? 'a file' : 'nothing'} is there)`, async () => {
      using folder = temporaryFolder()
      const [indexes, elsewhere] = [join(folder.path, 'indexes'), join(folder.path, 'elsewhere')]
      const runId = makeRunId()
      const name = `${schemaOf(runId)}.db`
      if (exists) await (await openIndex(`sqlite:${elsewhere}`, runId)).close()
      else mkdirSync(elsewhere)
      mkdirSync(indexes)
      symlinkSync(join(elsewhere, name), join(indexes, name))
      const address = `sqlite:${indexes}`
      await assert.rejects(openIndex(address, runId), IndexOutsideError)
      await assert.rejects(openIndexForReading(address, runId), IndexOutsideError)
      await assert.rejects(indexVersions(address), IndexOutsideError)
      await assert.rejects(dropIndex(address, runId), IndexOutsideError)
      assert.equal(existsSync(join(elsewhere, name)), exists)
    })
  }

  it('is found by its -wal, too', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    const path = join(folder.path, 'indexes', `${schemaOf(runId)}.db`)
    await (await openIndex(`sqlite:${folder.path}/indexes`, runId)).close()
    rmSync(`${path}-wal`, { force: true })
    symlinkSync(join(folder.path, 'log'), `${path}-wal`)
    await assert.rejects(openIndex(`sqlite:${folder.path}/indexes`, runId), IndexOutsideError)
  })

  it('may be reached through a folder that is a link itself', async () => {
    using folder = temporaryFolder()
    mkdirSync(join(folder.path, 'real'))
    symlinkSync(join(folder.path, 'real'), join(folder.path, 'indexes'))
    const runId = makeRunId()
    await using index = await openIndex(`sqlite:${folder.path}/indexes`, runId)
    assert.equal(index.runId, runId)
  })
})
