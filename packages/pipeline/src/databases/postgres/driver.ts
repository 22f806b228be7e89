import type pg from 'pg'
import { PackageRequiredError } from 'tidemark'

type Driver = typeof pg

/** Must match `peerDependencies` in the package manifest. */
const VERSIONS = '^8.15.0'
const WHAT = 'An index on PostgreSQL'

let loaded: Driver | undefined

/** It is an optional peer: loaded only if an index is on PostgreSQL, before anything in this folder is used. */
export async function loadDriver(): Promise<void> {
  const found = await importDriver()
  // The version can't be read in a bundle; this export was added in 8.15.
  if (typeof found?.Result !== 'function') throw PackageRequiredError.tooOld(WHAT, 'pg', VERSIONS)
  loaded = found
}

export function driver(): Driver {
  if (loaded === undefined) throw new Error('The driver of PostgreSQL was not loaded')
  return loaded
}

/** Bundlers leave an unresolvable import to run time if it is inside a try block. */
async function importDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw PackageRequiredError.missing(WHAT, 'pg', VERSIONS, cause)
  }
}
