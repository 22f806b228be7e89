import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { PAGE, referencePage } from '../../configuration-reference.ts'
import { checkConfig, defaultConfig, loadConfig } from '../../src/index.ts'

const page = readFileSync(PAGE, 'utf8')

describe('docs/reference/configuration.md', () => {
  it('matches the option tables (if not: npm run generate)', () => {
    assert.equal(page, referencePage())
  })

  it('shows a configuration that loads', async () => {
    using folder = temporaryFolder()
    const [, example = ''] = /```ts\n(.*?)```/s.exec(page) ?? []
    const file = join(folder.path, 'tidemark.config.ts')
    writeFileSync(file, example)
    const { folder: _, ...shown } = await loadConfig(file, { environment: {} })
    // With nothing installed beside it: the packages are those that run. And it is what npm start runs.
    const whole = defaultConfig({ dataFolder: join(folder.path, 'data') })
    const { folder: __, ...expected } = checkConfig(whole, folder.path)
    assert.deepEqual(shown, expected)
  })

  it("shows an environment variable that matches the example's queue", async () => {
    using folder = temporaryFolder()
    const [, example = ''] = /```ts\n(.*?)```/s.exec(page) ?? []
    const [, variable = '', value = ''] = /`(TIDEMARK_PIPELINE__\w+)=(\w+)`/.exec(page) ?? []
    const file = join(folder.path, 'tidemark.config.ts')
    writeFileSync(file, example)
    const { resources } = await loadConfig(file, { environment: { [variable]: value } })
    assert.equal(resources.queues.ticks?.maxItems, Number(value))
  })
})
