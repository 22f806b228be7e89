import { BUNDLE_HASH } from '../../src/stores/postgres/function-bundle.ts'
import { bundleSchemaName, quoteIdentifier, schemaName } from '../../src/stores/postgres/schema-name.ts'

/** The schema of this version's functions, quoted: for tests of single functions, which no public call reaches alone. */
export const functionsSchema = (namespace = 'default'): string =>
  quoteIdentifier(bundleSchemaName(schemaName(namespace), BUNDLE_HASH))
