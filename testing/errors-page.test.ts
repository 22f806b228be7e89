/** docs/reference/errors.md lists every error class with its code, and no other. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { STATUS_BY_CODE } from '../packages/server/src/problems/statuses.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const CLASS = /^(?:export )?class (\w+Error) extends (\w+)[^{]*\{([\s\S]*?)^\}/gm

type Row = { readonly name: string; readonly code: string; readonly cells: readonly string[] }

const classes = new Map(
  globSync('packages/*/src/**/*.ts', { cwd: ROOT }).flatMap(path =>
    [...read(path).matchAll(CLASS)].map(([, name = '', parent = '', body = '']) => {
      const [code] = body.match(/\bTIDEMARK_[A-Z_]+\b/) ?? []
      return [name, { parent, code }] as const
    }),
  ),
)

const page = read('docs/reference/errors.md')
const rows: readonly Row[] = [...page.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name = '', rest = '']) => {
  const [code = '', ...cells] = rest.split(' | ')
  return { name, code: code.replaceAll('`', ''), cells }
})

/** The code of a class, or of the one it extends. */
function codeOf(name: string): string | undefined {
  const found = classes.get(name)
  return found && (found.code ?? codeOf(found.parent))
}

describe('docs/reference/errors.md', () => {
  it('has every error class', () => {
    const coded = [...classes.keys()].filter(name => codeOf(name) !== undefined)
    const missing = coded.filter(name => !rows.some(row => row.name === name))
    assert.deepEqual(missing, [], 'Add these errors to docs/reference/errors.md with their code, cause and cure')
  })

  it('has every code that a response can have', () => {
    const missing = Object.keys(STATUS_BY_CODE).filter(code => !page.includes(`\`${code}\``))
    assert.deepEqual(missing, [])
  })

  it('names no class that does not exist', () => {
    const names = rows.map(({ name }) => name).filter(name => name !== 'TidemarkError')
    assert.deepEqual(
      names.filter(name => name.endsWith('Error') && !classes.has(name)),
      [],
    )
  })

  it('has the code of each', () => {
    for (const { name, code } of rows) {
      if (code.startsWith('TIDEMARK_') && classes.has(name)) assert.equal(code, codeOf(name), name)
    }
  })

  it('has a cause for each', () => {
    for (const { name, cells } of rows) assert.notEqual(cells[0]?.trim() ?? '', '', name)
  })

  it('has the status of the responses', () => {
    const statuses = rows.filter(({ cells }) => /^\d{3}$/.test(cells.at(-1) ?? ''))
    assert.ok(statuses.length > 15)
    for (const { name, code, cells } of statuses) assert.equal(Number(cells.at(-1)), STATUS_BY_CODE[code], name)
  })
})
