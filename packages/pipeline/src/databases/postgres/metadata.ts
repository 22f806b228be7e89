import type { SimulationMetadata } from '../../contracts/tick.ts'
import { type MetadataStore, metadataDocument, metadataOf } from '../metadata.ts'
import type { Connection } from './connection.ts'

const WRITE = `
  insert into run.run_metadata (id, document, written_at)
  values (1, $1, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict (id) do update set document = excluded.document, written_at = excluded.written_at
  where run_metadata.document <> excluded.document`

export class PostgresMetadata implements MetadataStore {
  readonly #connection: Connection
  readonly #runId: string

  constructor(connection: Connection, runId: string) {
    this.#connection = connection
    this.#runId = runId
  }

  async write(metadata: SimulationMetadata): Promise<void> {
    const document = metadataDocument(metadata, this.#runId)
    await this.#connection.transaction(tx => tx.run(WRITE, document))
  }

  async read(): Promise<SimulationMetadata | null> {
    const [row] = await this.#connection.read<{ document: string }>('select document from run.run_metadata')
    return row === undefined ? null : metadataOf(row.document)
  }

  async has(): Promise<boolean> {
    return (await this.#connection.read('select 1 from run.run_metadata')).length > 0
  }
}
