import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { build } from 'esbuild'
import { rolldown } from 'rolldown'
import { freshDatabase } from '../databases.ts'
import { createFolder, removeFolder } from '../folders.ts'
import { installFake, installOther, installTidemark } from './installed.ts'

type Bundler = (folder: string, output: string) => Promise<unknown>

/** `pg` is CommonJS; esbuild needs to be told where an ESM bundle of such has its `require` from. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"

const esbuild =
  (format: 'esm' | 'cjs', options: { minify?: boolean } = {}): Bundler =>
  (folder, outfile) =>
    build({
      entryPoints: [join(folder, 'program.js')],
      absWorkingDir: folder,
      bundle: true,
      platform: 'node',
      format,
      outfile,
      logLevel: 'silent',
      ...(format === 'esm' && { banner: { js: REQUIRE } }),
      ...options,
    })

const withRolldown: Bundler = async (folder, file) => {
  await using bundle = await rolldown({ input: join(folder, 'program.js'), cwd: folder, platform: 'node' })
  await bundle.write({ file, format: 'esm', codeSplitting: false })
}

const BUNDLERS: readonly { readonly name: string; readonly file: string; readonly bundle: Bundler }[] = [
  { name: 'esbuild, esm', file: 'bundle.mjs', bundle: esbuild('esm') },
  { name: 'esbuild, cjs', file: 'bundle.cjs', bundle: esbuild('cjs') },
  { name: 'esbuild, cjs, minified', file: 'small.cjs', bundle: esbuild('cjs', { minify: true }) },
  { name: 'rolldown', file: 'rolled.mjs', bundle: withRolldown },
]

/** Where the program and what it needs are installed. */
let folder: string
/** Where bundles are run: nothing else is there, so whatever they need is in them. */
let bare: string

before(async () => {
  folder = await installedIn('tidemark-bundles')
  bare = createFolder('tidemark-bare')
  installOther(folder, 'pg')
})

after(() => {
  removeFolder(folder)
  removeFolder(bare)
})

/** A folder with the program and Tidemark, and nothing else. */
async function installedIn(prefix: string): Promise<string> {
  const made = createFolder(prefix)
  copyFileSync(join(import.meta.dirname, 'program.js'), join(made, 'program.js'))
  writeFileSync(join(made, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await installTidemark(made)
  return made
}

function runBundle(file: string, DATABASE: string): Record<string, unknown> {
  const { stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: bare,
    env: { PATH: process.env.PATH, DATABASE },
    encoding: 'utf8',
  })
  assert.ok(stdout, `the bundle printed nothing but: ${stderr}`)
  return JSON.parse(stdout)
}

for (const { name, file, bundle } of BUNDLERS) {
  describe(`a program bundled with ${name}`, () => {
    before(() => bundle(folder, join(bare, file)))

    it('runs on SQLite', () => {
      const database = `sqlite:${join(bare, `${file}.db`)}`
      assert.deepEqual(runBundle(join(bare, file), database), { payload: { orderId: 7 } })
    })

    it('runs on PostgreSQL', async () => {
      await using database = await freshDatabase()
      assert.deepEqual(runBundle(join(bare, file), database.url), { payload: { orderId: 7 } })
    })

    it('reports errors with their names and codes', () => {
      const { name, code, isOurs } = runBundle(join(bare, file), 'mysql://localhost')
      assert.deepEqual({ name, code, isOurs }, { name: 'ConfigError', code: 'TIDEMARK_CONFIG', isOurs: true })
    })
  })
}

describe('a program bundled where pg is not installed', () => {
  let withoutPg: string

  before(async () => {
    withoutPg = await installedIn('tidemark-without-pg')
    await esbuild('esm')(withoutPg, join(bare, 'without-pg.mjs'))
  })

  after(() => removeFolder(withoutPg))

  it('runs on SQLite', () => {
    const database = `sqlite:${join(bare, 'without-pg.db')}`
    assert.deepEqual(runBundle(join(bare, 'without-pg.mjs'), database), { payload: { orderId: 7 } })
  })

  it('names the command that installs it when PostgreSQL is opened', () => {
    const { code, message } = runBundle(join(bare, 'without-pg.mjs'), 'postgres://127.0.0.1:1/none')
    assert.equal(code, 'TIDEMARK_PACKAGE_REQUIRED')
    assert.match(String(message), /npm install pg@\^8\.15\.0$/)
  })
})

describe('a program with a pg that is too old', () => {
  it('says so, and names the command that installs one', async () => {
    const installed = await installedIn('tidemark-old-pg')
    try {
      installFake(installed, 'pg', 'module.exports = { Pool: class {}, Client: class {} }')
      const { code, message } = runBundle(join(installed, 'program.js'), 'postgres://127.0.0.1:1/none')
      assert.equal(code, 'TIDEMARK_PACKAGE_REQUIRED')
      assert.match(String(message), /older one is installed\. Run: npm install pg@\^8\.15\.0$/)
    } finally {
      removeFolder(installed)
    }
  })
})
