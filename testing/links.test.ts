/** Pages move and headings are reworded; the links to them stay behind. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, it } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const isOurs = (path: string): boolean => !/(^|\/)(node_modules|dist)\//.test(path)
const pages = globSync('**/*.md', { cwd: ROOT }).filter(isOurs)

describe('a link', () => {
  for (const page of pages) {
    it(`of ${page} leads to a file and a heading that exist`, () => {
      assert.deepEqual(brokenLinks(page), [], `${page} has broken links`)
    })
  }

  it('leads to every page of docs/ from its index', () => {
    const linked = new Set(linksOf('docs/README.md').map(({ path }) => path))
    const missing = pages.filter(page => page.startsWith('docs/') && page !== 'docs/README.md' && !linked.has(page))
    assert.deepEqual(missing, [], 'docs/README.md must link to every page')
  })
})

type Link = { readonly written: string; readonly path: string; readonly anchor: string }

function brokenLinks(page: string): string[] {
  return linksOf(page)
    .filter(({ path, anchor }) => !existsSync(join(ROOT, path)) || (anchor !== '' && !anchorsOf(path).has(anchor)))
    .map(({ written }) => written)
}

function linksOf(page: string): Link[] {
  const written = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return written.filter(target => !/^[a-z]+:/.test(target)).map(target => resolve(page, target))
}

function resolve(page: string, written: string): Link {
  const [file = '', anchor = ''] = written.split('#')
  const path = file === '' ? page : relative(ROOT, join(ROOT, dirname(page), file))
  return { written, path, anchor }
}

/** The anchors that GitHub gives to headings: a repeated heading gets a number. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose(page).matchAll(/^#+\s+(.+)$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  return anchors
}

function slugOf(heading: string): string {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

function prose(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
}
