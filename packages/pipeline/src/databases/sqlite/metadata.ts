import type { MetadataStatements } from '../stored-metadata.ts'

const WRITE = `
  insert into run_metadata (id, document, written_at)
  values (1, ?1, cast(unixepoch('subsec') * 1000 as integer))
  on conflict (id) do update set document = excluded.document, written_at = excluded.written_at
  where run_metadata.document <> excluded.document`

export const METADATA: MetadataStatements = {
  write: WRITE,
  read: 'select document from run_metadata',
  has: 'select 1 from run_metadata',
}
