import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Bundle, BundledFile } from './bundle.ts'

/** A file of the page. */
export type Asset = {
  /** Content type. */
  readonly type: string
  /** Content, uncompressed. */
  readonly bytes: Uint8Array
  /** Content compressed with Brotli. */
  readonly brotli: Uint8Array
  /** Content compressed with gzip: all that Chromium accepts on plain HTTP outside of loopback. */
  readonly gzip: Uint8Array
}

/** The page: a shell without data, and the files that it loads. */
export type Page = {
  /** HTML of every address. */
  readonly shell: string
  /** Hash of its files, by which an open page notices that the server has another one. */
  readonly version: string
  /** Files by name. A name contains a hash of the content. */
  readonly files: ReadonlyMap<string, Asset>
}

const TYPES: { readonly [ending: string]: string } = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}
/** A window as large as the largest file. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 18 }
const compress = { brotli: promisify(brotliCompress), gzip: promisify(gzip) }

/** Compressed once for all clients, one file after the other: all at once took 100 MB of the process for a moment. */
export async function pageOf({ shell, files }: Bundle): Promise<Page> {
  const assets = new Map<string, Asset>()
  for (const file of files) assets.set(...(await assetOf(file)))
  return { shell, version: versionIn(shell), files: assets }
}

const versionIn = (shell: string): string => /name="tidemark-page" content="(\w+)"/.exec(shell)?.[1] ?? ''

async function assetOf({ name, bytes }: BundledFile): Promise<[string, Asset]> {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
  const [brotli, zipped] = await Promise.all([compress.brotli(bytes, { params: BROTLI }), compress.gzip(bytes)])
  return [name, { type, bytes, brotli, gzip: zipped }]
}
