import type { Store } from '../../stores/store.ts'
import type { ConformanceDatabase, ConformanceStore } from '../conformance-store.ts'
import { openStore } from '../open-store.ts'

/** So small that rows are evicted again and again. */
const ROW_CACHE_BYTES = 4_000

/** A store that can be restarted, and whose leases and delays expire on demand. */
export class TestStore implements AsyncDisposable {
  readonly name: string
  /** Whether ids have no gaps, so that published messages are counted exactly. */
  readonly countsExactly: boolean
  readonly database: ConformanceDatabase
  #store: Store | undefined

  static async create(of: ConformanceStore): Promise<TestStore> {
    return await new TestStore(of, await of.fresh()).restart()
  }

  private constructor({ name, lacks }: ConformanceStore, database: ConformanceDatabase) {
    this.name = name
    this.countsExactly = lacks?.['exact counts'] === undefined
    this.database = database
  }

  get store(): Store {
    if (this.#store === undefined) throw new Error(`${this.name} is not open`)
    return this.#store
  }

  async restart(): Promise<this> {
    await this.#store?.close()
    this.#store = await openStore(this.database, { rowCacheBytes: ROW_CACHE_BYTES })
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.close()
    await this.database[Symbol.asyncDispose]()
  }
}
