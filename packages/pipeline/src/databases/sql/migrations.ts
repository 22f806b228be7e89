import { readdirSync, readFileSync } from 'node:fs'
import { IndexVersionError } from '../errors.ts'

type Migration = { readonly version: number; readonly sql: string }

/** Migrations in the folder of an engine, in order. */
export function readMigrations(folder: URL): Migration[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.sql'))
    .sort()
    .map(name => ({ version: Number.parseInt(name, 10), sql: readFileSync(new URL(name, folder), 'utf8') }))
}

export function refuseNewer(index: string, version: number, newest: number): void {
  if (version <= newest) return
  throw new IndexVersionError(
    `The index ${index} was written by a newer version (schema ${version}; this one knows ${newest}). ` +
      `Update @tidemark/pipeline`,
  )
}
