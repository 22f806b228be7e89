import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const OPTIONS = 'packages/topics/src/options/options.ts'
const PRELOAD = ['--import', './build/stripped-sources.mjs']

/** Says what it has loaded, and where an error of a source comes from; in a thread of its own too. */
const SCRIPT = `
  import { isMainThread, Worker } from 'node:worker_threads'
  const { Options } = await import('./${OPTIONS}')
  let at = ''
  try { new Options('test', 1) } catch (error) { at = error.stack.match(/options\\.ts:\\d+:\\d+/)?.[0] ?? error.stack }
  const stripper = process.moduleLoadList.some(name => name.includes('amaro'))
  console.log(JSON.stringify({ isMainThread, at, stripper }))
  if (isMainThread) new Worker(process.argv[1], { eval: true })
`

describe('npm start', () => {
  it('loads its sources without the stripper of types, in every thread, and errors name their lines', async () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    assert.ok(scripts.start.includes(PRELOAD.join(' ')), scripts.start)
    const run = async (...flags: string[]) => {
      const given = ['--conditions=tidemark-source', ...flags, '--input-type=module', '--eval', SCRIPT, SCRIPT]
      // The cache of compiled code keeps sources without types too.
      const env = { ...process.env, NODE_COMPILE_CACHE: undefined }
      const { stdout } = await promisify(execFile)(process.execPath, given, { cwd: ROOT, env })
      return stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as { isMainThread: boolean; at: string; stripper: boolean })
    }
    const [plain] = await run()
    assert.match(plain?.at ?? '', /^options\.ts:\d+:\d+$/)
    assert.deepEqual(plain?.stripper, true)
    assert.deepEqual(await run(...PRELOAD), [
      { isMainThread: true, at: plain?.at, stripper: false },
      { isMainThread: false, at: plain?.at, stripper: false },
    ])
  })
})
