/** Files move; the pages and comments that name them stay behind. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = '{packages,testing,examples,bench}/**/*'
const isOurs = (path: string): boolean => !/(^|\/)(node_modules|dist)\//.test(path)
const find = (pattern: string): string[] => globSync(pattern, { cwd: ROOT }).filter(isOurs)

const files = find(`${FOLDERS}.{ts,sql}`).map(path => path.replaceAll('\\', '/'))
const names = new Set(files.map(path => basename(path)))

const NAMED = /`([\w./-]+\.(?:ts|sql))`/g
/** Of a user's own. */
const THEIRS = ['tidemark.config.ts', 'run.sql']

const exists = (named: string): boolean =>
  THEIRS.includes(named) ||
  named.startsWith('./') ||
  (names.has(basename(named)) && files.some(path => endsWith(path, named)))
const endsWith = (path: string, named: string): boolean => `/${path}`.endsWith(`/${named}`)

describe('a file that is named', () => {
  for (const page of [...find('docs/**/*.md'), 'README.md', 'CONTRIBUTING.md']) {
    it(`by ${page} exists`, () => check(page, readFileSync(join(ROOT, page), 'utf8').matchAll(NAMED)))
  }

  it('by a comment exists', () => {
    for (const path of files.filter(each => !each.includes('/gen/'))) {
      const comments = readFileSync(join(ROOT, path), 'utf8').match(/^\s*(?:\/?\*|\/\/|--).*$/gm) ?? []
      check(path, comments.join('\n').matchAll(/(?<![\w./-])([\w-]+(?:\/[\w-]+)*\.(?:ts|sql))\b/g))
    }
  })
})

function check(where: string, found: Iterable<RegExpMatchArray>): void {
  const gone = [...found].map(([, named = '']) => named).filter(named => !exists(named))
  assert.deepEqual(gone, [], `${where} names files that do not exist. Name the files where that code is now`)
}
