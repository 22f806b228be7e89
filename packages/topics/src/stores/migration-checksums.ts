import { createHash } from 'node:crypto'
import { DatabaseVersionError } from '../errors.ts'

/** A migration as recorded in a namespace; pre-releases recorded no checksum. */
export type AppliedMigration = { readonly version: number; readonly checksum: string | null }

/** Checksum of a migration's text, independent of line endings. */
export const checksumOf = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex').slice(0, 16)

/**
 * Before the first release migrations were edited in place, so a namespace created by an older text has an unknown
 * layout.
 */
export const isPreRelease = (applied: readonly AppliedMigration[], checksums: readonly string[]): boolean =>
  applied.some(({ version, checksum }) => version <= checksums.length && checksum !== checksums[version - 1])

export const preReleaseError = (what: string, advice: string): DatabaseVersionError =>
  new DatabaseVersionError(
    `${what} was made by a pre-release of Tidemark with another layout of its tables. This version can neither use nor ` +
      `upgrade it, and has changed nothing. ${advice}`,
  )
