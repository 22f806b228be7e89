import type pg from 'pg'
import { PackageRequiredError } from 'tidemark'

type Driver = typeof pg

/** `peerDependencies` of this package's manifest says the same. */
const VERSIONS = '^8.15.0'
const WHAT = 'An index on PostgreSQL'

let loaded: Driver | undefined

/** It is an optional peer: only where an index is on PostgreSQL is it loaded, before anything of this folder is used. */
export async function loadDriver(): Promise<void> {
  const found = await importDriver()
  // Its version can't be asked for in a bundle; this export came with 8.15.
  if (typeof found?.Result !== 'function') throw PackageRequiredError.tooOld(WHAT, 'pg', VERSIONS)
  loaded = found
}

export function driver(): Driver {
  if (loaded === undefined) throw new Error('The driver of PostgreSQL was not loaded')
  return loaded
}

/** Bundlers leave an import that they can't resolve for the run time where it stands in a try block. */
async function importDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw PackageRequiredError.missing(WHAT, 'pg', VERSIONS, cause)
  }
}
