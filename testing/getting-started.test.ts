/** docs/getting-started.md is run as a reader runs it: its files in a new folder, and their output compared. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { freshDatabase, temporaryFolder } from './databases.ts'
import { type Script, spawnScript } from './processes.ts'
import { until } from './until.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8')

const blocks = (language: string): Map<string, string> =>
  new Map(
    [...PAGE.matchAll(new RegExp(`^\`\`\`${language} (\\S+)\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
      ([, name = '', text = '']) => [name, text],
    ),
  )
const outputs = blocks('text')
const linesOf = (name: string): string[] => (outputs.get(name) ?? '').trimEnd().split('\n')

describe('docs/getting-started.md', () => {
  it('prints on SQLite what it says', async () => {
    using shop = newShop()
    assert.deepEqual(await shop.outputOf('queue.ts'), linesOf('queue.ts'))
    await using worker = shop.start('worker.ts')
    await sellTwice(worker, shop)
  })

  it('prints the same on PostgreSQL, and publishes with the transaction of an order', async () => {
    using shop = newShop()
    await using database = await freshDatabase()
    const env = { DATABASE: database.url }
    await using worker = shop.start('worker.ts', env)
    await sellTwice(worker, shop, env)
    assert.deepEqual(await shop.outputOf('checkout.ts', env), [])
    await worker.waitForLine('billing: 99 for order 3')
    assert.ok(!worker.lines.some(line => line.includes('order 4')))
  })
})

async function sellTwice(worker: Script, shop: Shop, env?: Environment): Promise<void> {
  await worker.waitForLine('waiting for orders')
  for (const _ of [1, 2]) assert.deepEqual(await shop.outputOf('publish.ts', env), ['published'])
  const expected = linesOf('dead-letters.ts')
  await until(async () => (await shop.outputOf('dead-letters.ts', env)).length > 0, { what: 'the dead letter' })
  assert.deepEqual(await shop.outputOf('dead-letters.ts', env), expected)
  // The groups are independent of each other: only the order within one is known.
  assert.deepEqual([...worker.lines].sort(), linesOf('worker.ts').sort())
}

type Environment = { readonly DATABASE: string }
type Shop = Disposable & {
  start(name: string, env?: Environment): Script
  outputOf(name: string, env?: Environment): Promise<string[]>
}

/** A new folder with the page's files, and the packages that its reader installs. */
function newShop(): Shop {
  const folder = temporaryFolder()
  const modules = join(folder.path, 'node_modules')
  mkdirSync(modules)
  symlinkSync(join(ROOT, 'packages/topics'), join(modules, 'tidemark'))
  symlinkSync(join(ROOT, 'node_modules/pg'), join(modules, 'pg'))
  writeFileSync(join(folder.path, 'package.json'), '{ "type": "module" }')
  for (const [name, text] of blocks('ts')) writeFileSync(join(folder.path, name), text)
  const start = (name: string, env?: Environment): Script =>
    spawnScript(join(folder.path, name), [], { cwd: folder.path, env: { DATABASE: undefined, ...env } })
  return {
    start,
    async outputOf(name, env) {
      await using script = start(name, env)
      const { code } = await script.exited
      assert.equal(code, 0, script.errorLines.join('\n'))
      return [...script.lines]
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}
