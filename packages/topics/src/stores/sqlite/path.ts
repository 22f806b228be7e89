import { isAbsolute, parse, resolve } from 'node:path'
import { ConfigError } from '../../errors.ts'
import type { StoreAddress } from '../engine.ts'

/** File systems allow 255 bytes, and SQLite adds '-journal'. */
const LONGEST_FILE_NAME = 247

/** `app.db` for the default namespace, its sibling `app.<namespace>.db` for another. */
export function sqlitePath({ option, url, namespace }: StoreAddress): string {
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
