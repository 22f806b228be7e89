import pg from 'pg'

/** A connection of its own that publishes in transactions and ends them when it is told. */
export class TransactionWriter implements AsyncDisposable {
  readonly #name: string
  readonly #client: pg.Client
  readonly #publish: (client: pg.Client, key: string) => Promise<unknown>
  #written = 0
  #open: string[] = []
  #queue: Promise<unknown> = Promise.resolve()

  static async connect(
    url: string,
    name: string,
    publish: (client: pg.Client, key: string) => Promise<unknown>,
  ): Promise<TransactionWriter> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return new TransactionWriter(client, name, publish)
  }

  constructor(client: pg.Client, name: string, publish: (client: pg.Client, key: string) => Promise<unknown>) {
    this.#client = client
    this.#name = name
    this.#publish = publish
  }

  get isOpen(): boolean {
    return this.#open.length > 0
  }

  newKey(): string {
    return `${this.#name}-${++this.#written}`
  }

  /** One more message in its transaction, which begins with the first. */
  async publish(): Promise<void> {
    const key = this.newKey()
    const isFirst = this.#open.push(key) === 1
    this.#queue = this.#queue.then(async () => {
      if (isFirst) await this.#client.query('begin')
      await this.#publish(this.#client, key)
    })
    await this.#queue
  }

  /** A message in a part of its transaction that is rolled back: a savepoint, or an ORM's nested transaction. */
  async publishInVain(): Promise<void> {
    this.#queue = this.#queue.then(async () => {
      await this.#client.query('savepoint part')
      await this.#publish(this.#client, this.newKey())
      await this.#client.query('rollback to savepoint part')
    })
    await this.#queue
  }

  /** The keys that are now committed. */
  async commit(): Promise<string[]> {
    return await this.#end('commit')
  }

  async rollback(): Promise<void> {
    await this.#end('rollback')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }

  async #end(how: 'commit' | 'rollback'): Promise<string[]> {
    const keys = this.#open
    this.#open = []
    if (keys.length > 0) await this.#client.query(how)
    return keys
  }
}
