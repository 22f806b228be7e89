import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { createFolder, removeFolder } from '../folders.ts'
import { installCli, installTidemark } from './installed.ts'

describe('the command installed without the pipeline and the server', () => {
  let folder: string
  let main: string

  before(async () => {
    folder = createFolder('tidemark-cli')
    await installTidemark(folder)
    main = await installCli(folder)
  })

  after(() => removeFolder(folder))

  function tidemark(...args: string[]): { status: number | null; stdout: string; stderr: string } {
    const { NODE_OPTIONS: _, ...env } = process.env
    return spawnSync(process.execPath, [main, ...args], { cwd: folder, env, encoding: 'utf8' })
  }

  it('works on topics', () => {
    const database = ['--database', 'sqlite:./app.db']
    assert.equal(tidemark('migrate', ...database).status, 0)
    assert.equal(tidemark('topics', 'configure', 'orders', ...database).status, 0)
    assert.equal(tidemark('publish', 'orders', '{"orderId":7}', ...database).status, 0)
    assert.match(tidemark('topics', 'list', ...database).stdout, /orders/)
  })

  it('shows the help of every command', () => {
    assert.match(tidemark('start', '--help').stdout, /tidemark start/)
  })

  for (const [command, name] of [
    [['start', '--ticks', '1'], '@tidemark/pipeline'],
    [['runs'], '@tidemark/pipeline'],
    [['migrate', '--index', 'sqlite:./index'], '@tidemark/pipeline'],
    [['token', 'list'], '@tidemark/server'],
    [['audit'], '@tidemark/pipeline'],
  ] as const) {
    it(`says what to install for tidemark ${command[0]} ${command[1] ?? ''}`, () => {
      const { status, stderr } = tidemark(...command)
      assert.equal(status, 1)
      assert.match(
        stderr,
        new RegExp(`requires the package '${name}', which is not installed. Run: npm install @tidemark`),
      )
    })
  }
})
