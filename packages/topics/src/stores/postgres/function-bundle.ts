import { checksumOf } from '../migration-checksums.ts'
import { BUNDLE_DIGITS } from './schema-name.ts'
import { sqlFile } from './sql-file.ts'

/**
 * All functions of this version, one file per concept, installed together as one bundle in a schema of its own. The
 * bundle is identified by its hash, so that two versions of the program can work on the same tables during a rolling
 * deployment.
 *
 * The types come first and the completeness marker last; the order of the others does not matter, because bodies are
 * not checked at installation (a test checks them).
 */
const FILES = [
  'types',
  'common',
  'dynamic-sql',
  'cursor',
  'page',
  'claim',
  'due-retries',
  'lease-expiry',
  'settle',
  'subscribe',
  'watermark',
  'heartbeat',
  'dead-groups',
  'zombies',
  'partitions',
  'clean-up',
  'tracking',
  'switch-tracking',
  'backfill',
  'backfill-batch',
  'backfill-delivery',
  'backlogs',
  'inspection',
  'lanes',
  'previews',
  'browse',
  'admin',
  'redrive',
  'repair',
  'bundle',
]

/** The text of the bundle, for `inSchemas`. */
export const FUNCTIONS = FILES.map(name => sqlFile(`./functions/${name}.sql`)).join('\n')

/** Hash of the text, independent of line endings. */
export const BUNDLE_HASH = checksumOf(FUNCTIONS).slice(0, BUNDLE_DIGITS)
