import { createHash } from 'node:crypto'

/** PostgreSQL silently truncates longer identifiers, and two names could become one. */
const MAX_IDENTIFIER_BYTES = 63

/** Digits of the hash that identifies a bundle of functions. */
export const BUNDLE_DIGITS = 10
const BUNDLE = '#fn_'

/** The schema that holds a namespace; its name is also the channel of the namespace's wake-ups. */
export function schemaName(namespace: string): string {
  return shortened(namespace === 'default' ? 'tidemark' : `tidemark_${namespace}`, MAX_IDENTIFIER_BYTES)
}

/**
 * The schema that holds one bundle of functions for a namespace. Namespaces contain no '#', so it never clashes with
 * tables.
 */
export const bundleSchemaName = (schema: string, hash: string): string => `${bundlePrefix(schema)}${hash}`

/** The common prefix of all bundles of a namespace. */
export const bundlePrefix = (schema: string): string =>
  shortened(schema, MAX_IDENTIFIER_BYTES - BUNDLE.length - BUNDLE_DIGITS) + BUNDLE

function shortened(name: string, longest: number): string {
  if (Buffer.byteLength(name) <= longest) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32)
  // Namespaces contain no '#', so a shortened name never equals another's own.
  return `${name.slice(0, longest - hash.length - 1)}#${hash}`
}

/** The only place where a name becomes part of a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** In this engine's SQL, `tidemark.` stands for the namespace's schema and `tidemark_fn.` for that of its functions. */
export function inSchemas(sql: string, { tables, functions }: { tables: string; functions: string }): string {
  const schemas = { tidemark: quoteIdentifier(tables), tidemark_fn: quoteIdentifier(functions) }
  return sql.replaceAll(/\b(tidemark|tidemark_fn)\./g, (_, name: keyof typeof schemas) => `${schemas[name]}.`)
}

/** A key for advisory locks, so that namespaces and purposes don't wait for each other. */
export function lockKey(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\0')).digest().readBigInt64BE().toString()
}
