import { createHash } from 'node:crypto'

/** PostgreSQL cuts longer identifiers without a word, and two names could become one. */
const MAX_IDENTIFIER_BYTES = 63

/** The schema that holds a namespace; its name is also the channel of the namespace's wake-ups. */
export function schemaName(namespace: string): string {
  const name = namespace === 'default' ? 'tidemark' : `tidemark_${namespace}`
  if (Buffer.byteLength(name) <= MAX_IDENTIFIER_BYTES) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 32)
  // No namespace has a '#': a name that was shortened is never another's own.
  return `${name.slice(0, MAX_IDENTIFIER_BYTES - hash.length - 1)}#${hash}`
}

/** The one place where a name becomes part of a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** In the .sql files `tidemark.` stands for the namespace's schema. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/\btidemark\./g, () => `${quoteIdentifier(schema)}.`)
}

/** A key for advisory locks, so that namespaces and purposes don't wait for each other. */
export function lockKey(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\0')).digest().readBigInt64BE().toString()
}
