import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'

const PACKAGE = join(import.meta.dirname, '../..')
const BIN = join(PACKAGE, '../../node_modules/.bin')

it('the generated code is what the generator makes of the .proto files (if not: npm run generate)', () => {
  using folder = temporaryFolder()
  const generator = spawnSync(join(BIN, 'buf'), ['generate', '--output', folder.path], {
    cwd: PACKAGE,
    env: { ...process.env, PATH: `${BIN}:${process.env.PATH}` },
    encoding: 'utf8',
  })
  assert.equal(generator.status, 0, generator.stderr)
  const made = filesOf(join(folder.path, 'src/contracts/gen'))
  assert.ok(made.size >= 4, 'it makes something')
  assert.deepEqual(filesOf(join(PACKAGE, 'src/contracts/gen')), made)
})

it('the .proto files keep to the rules of buf lint', () => {
  const lint = spawnSync(join(BIN, 'buf'), ['lint'], { cwd: PACKAGE, encoding: 'utf8' })
  assert.equal(lint.status, 0, lint.stdout + lint.stderr)
})

function filesOf(folder: string): Map<string, string> {
  const names = globSync('**/*.ts', { cwd: folder }).sort()
  return new Map(names.map(name => [name, readFileSync(join(folder, name), 'utf8')]))
}
