import type pg from 'pg'
import { PackageRequiredError } from '../../errors.ts'

/** `peerDependencies` of this package's manifest says the same. */
const VERSIONS = '^8.15.0'
const WHAT = 'A postgres:// address'

/**
 * The driver, loaded when it is first needed: it is an optional peer, so that a program on SQLite, or on PostgreSQL through
 * another driver, does not install it.
 */
export async function loadPg(): Promise<typeof pg> {
  const loaded = await importPg()
  // Its version can't be asked for in a bundle; this export came with 8.15.
  if (typeof loaded?.Result !== 'function') throw PackageRequiredError.tooOld(WHAT, 'pg', VERSIONS)
  return loaded
}

/** Bundlers leave an import that they can't resolve for the run time where it stands in a try block. */
async function importPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    throw PackageRequiredError.missing(WHAT, 'pg', VERSIONS, cause)
  }
}
