import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { PAGE, referencePage } from '../../configuration-reference.ts'
import { loadConfig } from '../../src/index.ts'

const page = readFileSync(PAGE, 'utf8')
const ENTRY = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href

describe('docs/configuration.md', () => {
  it('is what the option tables say (if not: npm run generate)', () => {
    assert.equal(page, referencePage())
  })

  it('shows a configuration that loads', async () => {
    using folder = temporaryFolder()
    const [, example = ''] = /```ts\n(.*?)```/s.exec(page) ?? []
    const file = join(folder.path, 'tidemark.config.ts')
    writeFileSync(file, example.replace('@tidemark/pipeline', ENTRY))
    const { services } = await loadConfig(file, { environment: {} })
    assert.deepEqual(
      services.map(({ name }) => name),
      ['collector', 'simulation'],
    )
  })

  it("shows an environment variable that meets the example's queue", async () => {
    using folder = temporaryFolder()
    const [, example = ''] = /```ts\n(.*?)```/s.exec(page) ?? []
    const [, variable = '', value = ''] = /`(TIDEMARK_PIPELINE__\w+)=(\w+)`/.exec(page) ?? []
    const file = join(folder.path, 'tidemark.config.ts')
    writeFileSync(file, example.replace('@tidemark/pipeline', ENTRY))
    const { resources } = await loadConfig(file, { environment: { [variable]: value } })
    assert.equal(resources.queues['tick-queue']?.maxItems, Number(value))
  })
})
