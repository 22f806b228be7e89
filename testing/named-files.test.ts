/** Files move; the pages and comments that name them stay behind. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = '{packages,testing,examples,bench,build,deploy}/**/*'
const isOurs = (path: string): boolean => !/(^|\/)(node_modules|dist)\//.test(path)
const find = (pattern: string): string[] => globSync(pattern, { cwd: ROOT }).filter(isOurs)

const files = find(`${FOLDERS}.{ts,sql}`).map(path => path.replaceAll('\\', '/'))
const names = new Set(files.map(path => basename(path)))

const NAMED = /`([\w./-]+\.(?:ts|sql))`/g
const BARE = /(?<![\w./-])([\w-]+(?:\/[\w-]+)*\.(?:ts|sql))\b/g
const MAP = 'docs/internals/architecture.md'
/** Files that a reader creates. */
const GETTING_STARTED = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8')
const THEIRS = [
  'tidemark.config.ts',
  'run.sql',
  ...[...GETTING_STARTED.matchAll(/^```ts (\S+)$/gm)].map(([, name = '']) => name),
]

const exists = (named: string): boolean =>
  THEIRS.includes(named) ||
  named.startsWith('./') ||
  (names.has(basename(named)) && files.some(path => endsWith(path, named)))
const endsWith = (path: string, named: string): boolean => `/${path}`.endsWith(`/${named}`)

describe('a file that is named', () => {
  for (const page of [...find('docs/**/*.md'), 'README.md', 'CONTRIBUTING.md']) {
    it(`by ${page} exists`, () => check(page, readFileSync(join(ROOT, page), 'utf8').matchAll(NAMED)))
  }

  it('by a guarantee exists', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/guarantees.md'), 'utf8')
    const tests = page.matchAll(/`((?:conformance|crash|model|postgres|sqlite)\/[\w-]+)`/g)
    const missing = [...tests].filter(([, test]) => !files.includes(`packages/topics/test/${test}.test.ts`))
    assert.deepEqual(
      missing.map(([, test]) => test),
      [],
    )
  })

  it('by the map exists', () => {
    const [, map = ''] = /^## The map$(.*?)^## /ms.exec(readFileSync(join(ROOT, MAP), 'utf8')) ?? []
    assert.notEqual(map, '', `${MAP} has no section "The map"`)
    check(MAP, map.matchAll(BARE))
  })

  it('by a comment exists', () => {
    for (const path of files.filter(each => !each.includes('/gen/'))) {
      const comments = readFileSync(join(ROOT, path), 'utf8').match(/^\s*(?:\/?\*|\/\/|--).*$/gm) ?? []
      check(path, comments.join('\n').matchAll(BARE))
    }
  })
})

describe('the table "Where is …"', () => {
  const page = readFileSync(join(ROOT, MAP), 'utf8')
  const [, table = ''] = /^## Where is …$(.*?)^## /ms.exec(page) ?? []
  const rows = [...table.matchAll(/^\| ([^|`]+) \| ([^|]+) \|/gm)].map(([, concept = '', named = '']) => ({
    concept: concept.trim(),
    named: [...named.matchAll(NAMED)].map(([, path = '']) => path),
  }))

  it('has every concept that a reader was asked for', () => {
    const concepts = rows.map(({ concept }) => concept).filter(concept => !/^(concept|-+)$/.test(concept))
    assert.deepEqual(concepts, [
      ...['retry backoff', 'lease expiry', 'dead groups', 'group commit', 'snapshot cursor', 'row cache'],
      ...['backfill throttle', 'gap detection', 'batch checksum', 'region read', 'token check', 'progress screen'],
    ])
  })

  it('names files by words of their concept', () => {
    for (const { concept, named } of rows) {
      for (const path of named) {
        const words = basename(path)
          .replace(/\.\w+$/, '')
          .split('-')
        assert.ok(files.includes(`packages/${path}`), `${path} does not exist`)
        assert.ok(
          words.every(word => concept.split(' ').includes(word)),
          `${path} is not named after '${concept}'`,
        )
      }
    }
  })
})

function check(where: string, found: Iterable<RegExpMatchArray>): void {
  const gone = [...found].map(([, named = '']) => named).filter(named => !exists(named))
  assert.deepEqual(gone, [], `${where} names files that do not exist. Name the files where that code is now`)
}
