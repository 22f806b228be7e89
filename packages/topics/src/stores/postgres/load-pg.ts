import type pg from 'pg'
import { PackageRequiredError } from '../../errors.ts'

/** Must match `peerDependencies` in the package manifest. */
const VERSIONS = '^8.15.0'
const WHAT = 'A postgres:// address'

/**
 * Loads the driver on first use. It is an optional peer, so that programs on SQLite, or on PostgreSQL through another
 * driver, need not install it.
 */
export async function loadPg(): Promise<typeof pg> {
  const loaded = await importPg()
  // The version can't be read in a bundle; this export was added in 8.15.
  if (typeof loaded?.Result !== 'function') throw PackageRequiredError.tooOld(WHAT, 'pg', VERSIONS)
  return loaded
}

/** Bundlers leave an unresolvable import to run time if it is inside a try block. */
async function importPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw PackageRequiredError.missing(WHAT, 'pg', VERSIONS, cause)
  }
}
