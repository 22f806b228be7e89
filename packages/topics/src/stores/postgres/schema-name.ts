import { createHash } from 'node:crypto'

/** PostgreSQL cuts longer identifiers without a word, and two names could become one. */
const MAX_IDENTIFIER_BYTES = 63

/** Digits of the hash that identifies a bundle of functions. */
export const BUNDLE_DIGITS = 10
const BUNDLE = '#fn_'

/** The schema that holds a namespace; its name is also the channel of the namespace's wake-ups. */
export function schemaName(namespace: string): string {
  return shortened(namespace === 'default' ? 'tidemark' : `tidemark_${namespace}`, MAX_IDENTIFIER_BYTES)
}

/** The schema that holds one bundle of functions for a namespace. No namespace has a '#', so it is never another's tables. */
export const bundleSchemaName = (schema: string, hash: string): string => `${bundlePrefix(schema)}${hash}`

/** What the names of all bundles of a namespace begin with. */
export const bundlePrefix = (schema: string): string =>
  shortened(schema, MAX_IDENTIFIER_BYTES - BUNDLE.length - BUNDLE_DIGITS) + BUNDLE

function shortened(name: string, longest: number): string {
  if (Buffer.byteLength(name) <= longest) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32)
  // No namespace has a '#': a name that was shortened is never another's own.
  return `${name.slice(0, longest - hash.length - 1)}#${hash}`
}

/** The one place where a name becomes part of a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** In SQL of this engine `tidemark.` stands for the namespace's schema, and `tidemark_fn.` for that of its functions. */
export function inSchemas(sql: string, { tables, functions }: { tables: string; functions: string }): string {
  const schemas = { tidemark: quoteIdentifier(tables), tidemark_fn: quoteIdentifier(functions) }
  return sql.replaceAll(/\b(tidemark|tidemark_fn)\./g, (_, name: keyof typeof schemas) => `${schemas[name]}.`)
}

/** A key for advisory locks, so that namespaces and purposes don't wait for each other. */
export function lockKey(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\0')).digest().readBigInt64BE().toString()
}
