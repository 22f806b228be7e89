import type { MetadataStatements } from '../stored-metadata.ts'

const WRITE = `
  insert into run.run_metadata (id, document, written_at)
  values (1, $1, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (id) do update set document = excluded.document, written_at = excluded.written_at
  where run_metadata.document <> excluded.document`

export const METADATA: MetadataStatements = {
  write: WRITE,
  read: 'select document from run.run_metadata',
  has: 'select 1 from run.run_metadata',
}
