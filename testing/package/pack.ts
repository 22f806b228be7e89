import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runOrThrow } from './run-program.ts'

/** Our packages' names, each with the path of its tarball. */
export type Tarballs = ReadonlyMap<string, string>

const ROOT = join(import.meta.dirname, '../..')

/** Builds and packs every package, as `npm publish` would. */
export function packAll(folder: string): Tarballs {
  runOrThrow('npm', ['run', '--silent', 'build'], ROOT)
  const packed = runOrThrow('npm', ['pack', '--workspaces', '--json', '--silent', '--pack-destination', folder], ROOT)
  return new Map(packedFiles(packed).map(({ name, filename }) => [name, join(folder, filename)]))
}

type Packed = { readonly name: string; readonly filename: string }

/** npm gives a list, or since version 11.7 an object by name. */
function packedFiles(output: string): Packed[] {
  const packed: Packed[] | { [name: string]: Packed } = JSON.parse(output.slice(output.search(/[[{]/)))
  return Object.values(packed)
}

export const versionOf = (manifest: string): string => JSON.parse(readFileSync(manifest, 'utf8')).version
