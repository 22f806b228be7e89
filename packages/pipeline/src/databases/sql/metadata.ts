import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { IndexConnection } from '../index-connection.ts'
import { type MetadataStore, metadataDocument, metadataOf } from '../metadata.ts'
import type { Dialect } from './dialect.ts'

const READ = 'select document from run.run_metadata'
const HAS = 'select 1 from run.run_metadata'

const write = ({ now }: Dialect): string => `
  insert into run.run_metadata (id, document, written_at)
  values (1, $1, ${now})
  on conflict (id) do update set document = excluded.document, written_at = excluded.written_at
  where run_metadata.document <> excluded.document`

export class StoredMetadata implements MetadataStore {
  readonly #connection: IndexConnection
  readonly #runId: string
  readonly #write: string

  constructor(connection: IndexConnection, runId: string) {
    this.#connection = connection
    this.#runId = runId
    this.#write = write(connection.dialect)
  }

  async write(metadata: SimulationMetadata): Promise<void> {
    const document = metadataDocument(metadata, this.#runId)
    await this.#connection.transaction(tx => tx.run(this.#write, document))
  }

  async read(): Promise<SimulationMetadata | null> {
    const [row] = await this.#connection.read<{ document: string }>(READ)
    return row === undefined ? null : metadataOf(row.document)
  }

  async has(): Promise<boolean> {
    return (await this.#connection.read(HAS)).length > 0
  }
}
