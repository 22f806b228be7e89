import type { StoredSize } from '../inspection.ts'
import { quoteIdentifier } from './schema-name.ts'
import type { Transaction } from './transaction.ts'

/** Tables with their indexes and TOAST data. The server reads file sizes, not contents. */
const SIZE = `
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::text as bytes
  from pg_class as c
  where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'm', 'S')`

export async function sizeOf(tx: Transaction): Promise<StoredSize> {
  const [row] = await tx.query(SIZE, [quoteIdentifier(tx.schema)])
  return { bytes: Number(row?.bytes ?? 0), reusableBytes: 0 }
}
