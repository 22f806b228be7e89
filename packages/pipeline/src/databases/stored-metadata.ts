import type { SimulationMetadata } from '../contracts/tick.ts'
import type { IndexDatabase } from './index-database.ts'
import { type MetadataStore, metadataDocument, metadataOf } from './metadata.ts'

export type MetadataStatements = { readonly write: string; readonly read: string; readonly has: string }

type Connection = Pick<IndexDatabase, 'read' | 'transaction'>

export class StoredMetadata implements MetadataStore {
  readonly #connection: Connection
  readonly #sql: MetadataStatements
  readonly #runId: string

  constructor(connection: Connection, sql: MetadataStatements, runId: string) {
    this.#connection = connection
    this.#sql = sql
    this.#runId = runId
  }

  async write(metadata: SimulationMetadata): Promise<void> {
    const document = metadataDocument(metadata, this.#runId)
    await this.#connection.transaction(tx => tx.run(this.#sql.write, document))
  }

  async read(): Promise<SimulationMetadata | null> {
    const [row] = await this.#connection.read<{ document: string }>(this.#sql.read)
    return row === undefined ? null : metadataOf(row.document)
  }

  async has(): Promise<boolean> {
    return (await this.#connection.read(this.#sql.has)).length > 0
  }
}
