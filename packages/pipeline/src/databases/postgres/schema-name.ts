import { createHash } from 'node:crypto'

/** The only place where a name becomes part of a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** `run.` in statements stands for the schema of the run. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/\brun\./g, () => `${quoteIdentifier(schema)}.`)
}

/** Key for advisory locks, so that runs do not wait for each other. */
export function lockKey(schema: string): string {
  return createHash('sha256').update(`@tidemark/pipeline\0${schema}`).digest().readBigInt64BE().toString()
}
