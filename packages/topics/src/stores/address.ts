import { isAbsolute, parse, resolve } from 'node:path'
import { ConfigError } from '../errors.ts'
import { checkNamespace } from '../options/names.ts'

/** File systems take 255 bytes, and SQLite adds '-journal'. */
const LONGEST_FILE_NAME = 247

/** Where a namespace is. */
export type Address =
  | { readonly engine: 'sqlite'; readonly path: string; readonly namespace: string }
  | { readonly engine: 'postgres'; readonly url: string; readonly namespace: string }

export function parseAddress(option: string, url: unknown, given: unknown): Address {
  const namespace = checkNamespace(given ?? 'default')
  if (typeof url === 'string' && url.startsWith('sqlite:')) {
    return { engine: 'sqlite', path: sqlitePath(option, url, namespace), namespace }
  }
  if (typeof url === 'string' && /^postgres(ql)?:\/\//.test(url)) return { engine: 'postgres', url, namespace }
  // The address may hold a password: only its scheme is shown.
  const shown = typeof url === 'string' ? url.replace(/(:).*$/s, '$1…') : url
  throw new ConfigError(option, shown, "'sqlite:<file>', 'sqlite::memory:' or 'postgres://…'")
}

/** `app.db` for the default namespace, its sibling `app.<namespace>.db` for another. */
function sqlitePath(option: string, url: string, namespace: string): string {
  const file = url.slice('sqlite:'.length)
  if (file === '') throw new ConfigError(option, url, "'sqlite:<file>' with a file name")
  if (file === ':memory:') return file
  const path = isAbsolute(file) ? file : resolve(file)
  const { dir, base, name, ext } = parse(path)
  const own = namespace === 'default' ? base : `${name}.${namespace}${ext}`
  if (Buffer.byteLength(own) > LONGEST_FILE_NAME) {
    throw new ConfigError(option, url, `a file whose name, '${own}', has no more than ${LONGEST_FILE_NAME} bytes`)
  }
  return resolve(dir, own)
}
