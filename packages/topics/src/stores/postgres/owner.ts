import type { Statements } from './transaction.ts'

export const OWNS = `
  select pg_has_role(c.relowner, 'usage') and has_schema_privilege(c.relnamespace, 'create') as owns
  from pg_class as c
  where c.oid = 'tidemark.topic'::regclass`

/**
 * Whether this user may create and drop tables of the namespace. Otherwise a process whose user may creates and drops
 * partitions.
 */
export async function ownsTables(statements: Statements): Promise<boolean> {
  const [row] = await statements.query(statements.sql(OWNS))
  return row?.owns === 't'
}
