import { createHash } from 'node:crypto'

/** The one place where a name becomes part of a statement. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** In statements `run.` stands for the schema of the run. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/\brun\./g, () => `${quoteIdentifier(schema)}.`)
}

/** A key for advisory locks, so that runs don't wait for each other. */
export function lockKey(schema: string): string {
  return createHash('sha256').update(`@tidemark/pipeline\0${schema}`).digest().readBigInt64BE().toString()
}
