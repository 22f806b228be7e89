import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { build, type Format } from 'esbuild'
import { createFolder, removeFolder } from '../folders.ts'
import { installOther, installPipeline, installTidemark } from './installed.ts'

const WORKER = '@tidemark/pipeline/worker-main'

/** Where the program and what it needs are installed. */
let folder: string

before(async () => {
  folder = createFolder('tidemark-threads')
  copyFileSync(join(import.meta.dirname, 'threads.js'), join(folder, 'threads.js'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await Promise.all([installTidemark(folder), installPipeline(folder)])
  for (const name of ['pg', '@bufbuild/protobuf']) installOther(folder, name)
})

after(() => removeFolder(folder))

async function bundle(entryPoints: Record<string, string>, format: Format, outdir: string): Promise<void> {
  await build({
    entryPoints,
    absWorkingDir: folder,
    bundle: true,
    platform: 'node',
    format,
    outdir,
    outExtension: { '.js': format === 'cjs' ? '.cjs' : '.mjs' },
    logLevel: 'silent',
  })
}

function run(cwd: string, file: string): { tick?: number; code?: string; message?: string } {
  const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd, encoding: 'utf8' })
  assert.ok(stdout, `the bundle printed nothing but: ${stderr}`)
  return JSON.parse(stdout)
}

for (const format of ['esm', 'cjs'] as const) {
  const file = format === 'cjs' ? 'threads.cjs' : 'threads.mjs'

  describe(`a bundled pipeline with a service in a thread, ${format}`, () => {
    let bare: string

    before(() => {
      bare = createFolder('tidemark-bare')
    })

    after(() => removeFolder(bare))

    it('says what to bundle with it where the file of the thread is missing', async () => {
      await bundle({ threads: 'threads.js' }, format, bare)
      const { code, message } = run(bare, file)
      assert.equal(code, 'TIDEMARK_WORKER_ENTRY')
      assert.ok(message?.includes(WORKER) && message.includes(bare), message)
    })

    it('runs where it was bundled with it', async () => {
      await bundle({ threads: 'threads.js', 'worker-main': WORKER }, format, bare)
      assert.deepEqual(run(bare, file), { tick: 20 })
    })
  })
}
