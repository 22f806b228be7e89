type Write = {
  readonly body: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Runs its body in one transaction, and retries while another process writes. */
type Transaction = (body: () => void) => Promise<void>

/**
 * Writes in the same turn of the event loop share a transaction. Most of the cost of a small one is its begin and
 * commit, and groups of one process claim and settle side by side. A body may run again after a rollback.
 */
export class WriteQueue {
  readonly #transaction: Transaction
  #waiting: Write[] = []
  #running: Promise<void> | undefined

  constructor(transaction: Transaction) {
    this.#transaction = transaction
  }

  add<T>(body: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ body, resolve: result => resolve(result as T), reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when nothing is waiting. */
  async drain(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    await new Promise(resolve => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#writeAll(this.#waiting.splice(0))
    this.#running = undefined
  }

  /** A body that throws does not affect the others: they are run again without it. */
  async #writeAll(writes: readonly Write[]): Promise<void> {
    let results: unknown[] = []
    let current: Write | undefined
    try {
      await this.#transaction(() => {
        results = writes.map(write => {
          current = write
          return write.body()
        })
        current = undefined
      })
    } catch (error) {
      const failed = current === undefined ? writes : [current]
      for (const { reject } of failed) reject(error)
      const others = writes.filter(write => !failed.includes(write))
      return others.length > 0 ? await this.#writeAll(others) : undefined
    }
    for (const [index, { resolve }] of writes.entries()) resolve(results[index])
  }
}
