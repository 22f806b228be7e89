/** The public entries of the packages, and what their examples may use without saying where it comes from. */
export type Entry = {
  /** As a program imports it. */
  readonly specifier: string
  readonly file: string
  /** What has to have an example. */
  readonly examples: readonly string[]
  readonly given: string
  /** Files that examples import. */
  readonly files?: { readonly [name: string]: string }
}

export const ENTRIES: readonly Entry[] = [
  {
    specifier: 'tidemark',
    file: 'packages/topics/src/index.ts',
    examples: ['function', 'method'],
    given: `
import type { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
type Order = { orderId: number }
declare const db: DatabaseSync
declare const tm: Tidemark
declare const orders: Topic<Order>
declare const group: ConsumerGroup<Order>
declare const reader: Reader<Order>
declare const writer: Writer<Order>
declare const delivery: Delivery<Order>
declare const reservation: PullReservation
declare const logger: Logger
declare const registry: ProtobufRegistry
declare function freshToken(): Promise<string>
declare const receipt: string
declare const signal: AbortSignal
`,
  },
  {
    specifier: 'tidemark/store',
    file: 'packages/topics/src/store.ts',
    examples: ['function'],
    given: `
import { open } from 'tidemark'
declare const logger: Logger
declare const topic: TopicRecord
declare const message: RawMessage
declare const messageId: string
declare const stored: StoredTopicConfig
`,
    files: {
      'nats-engine.ts':
        "import type { StoreEngine } from 'tidemark/store'\nexport declare const natsEngine: StoreEngine\n",
    },
  },
  {
    specifier: 'tidemark/drivers',
    file: 'packages/topics/src/drivers.ts',
    examples: ['function'],
    given: `
import { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { open } from 'tidemark'
`,
  },
  {
    specifier: 'tidemark/conformance',
    file: 'packages/topics/src/conformance.ts',
    examples: ['function'],
    given: `
declare function createEmptyToyDatabase(): Promise<string>
declare function endToyLeases(url: string): Promise<void>
declare function dropToyDatabase(url: string): Promise<void>
declare const url: string
`,
  },
  {
    specifier: '@tidemark/pipeline',
    file: 'packages/pipeline/src/index.ts',
    examples: ['function'],
    given: `
import { createReadStream } from 'node:fs'
import { ConfigError, type Tidemark } from 'tidemark'
declare const tm: Tidemark
declare const pipeline: Pipeline
declare const run: string
declare const key: string
declare const bytes: Uint8Array
declare const tick: Tick
declare const cells: Cells
declare const metadata: SimulationMetadata
declare const info: BatchInfo
declare const letter: DeadLetter
declare const database: IndexDatabase
declare const storage: Storage
declare const signal: AbortSignal
`,
  },
  {
    specifier: '@tidemark/server',
    file: 'packages/server/src/index.ts',
    examples: ['function'],
    given: `
import { readFile } from 'node:fs/promises'
import { open } from 'tidemark'
declare const entries: readonly AuditEntry[]
`,
  },
  {
    specifier: '@tidemark/jetstream',
    file: 'packages/jetstream/src/index.ts',
    examples: ['function'],
    given: `
import { open } from 'tidemark'
`,
  },
]
