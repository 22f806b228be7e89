import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Files } from './write-javascript.ts'

type Manifest = {
  readonly exports: {
    readonly [path: string]: string | { readonly 'tidemark-source': string; readonly default: string }
  }
}

/** What the manifest of a package exports: the name in dist of each entry, with its file in src. */
export function entriesOf(folder: string): Files {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entries = Object.values(manifest.exports).filter(entry => typeof entry !== 'string')
  return Object.fromEntries(entries.map(entry => [basename(entry.default, '.js'), entry['tidemark-source']]))
}
