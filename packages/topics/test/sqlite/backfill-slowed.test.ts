import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'

describe('a backfill beside live traffic', () => {
  it('says that it is slowed down while others write, and no longer afterwards', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await open(`sqlite:${path}`, { maintenance: false })
    await tm.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference' })
    await tm.publishBatch('events', new Array(5_000).fill(0))
    const group = tm.consumerGroup('events', 'late')
    group.addConsumer('one', async () => undefined)
    // Small steps, so that it lasts until it is cancelled.
    await group.start({ from: 'now' })
    const steps = { batchSize: 2, maxPerSecond: 100, targetLatency: '100ms' } as const
    const started = tm.admin.startBackfill('events', 'late', { from: 'beginning', ...steps })
    const isSlowed = async (): Promise<boolean> => (await tm.admin.backfill('events', 'late'))?.slowed === true
    await using traffic = new Traffic(path)
    await until(isSlowed, { what: 'the backfill to be slowed' })
    await traffic.end()
    await until(async () => !(await isSlowed()), { what: 'the backfill to recover' })
    assert.equal((await tm.admin.backfill('events', 'late'))?.status, 'RUNNING')
    await tm.admin.cancelBackfill('events', 'late')
    await started
    await group.stop()
  })
})

/** Another process's writes: each holds the file for longer than the backfill's target. */
class Traffic implements AsyncDisposable {
  readonly #ended = new AbortController()
  readonly #running: Promise<void>

  constructor(path: string) {
    this.#running = this.#run(new DatabaseSync(path))
  }

  async #run(database: DatabaseSync): Promise<void> {
    database.exec('pragma busy_timeout = 5000')
    while (!this.#ended.signal.aborted) {
      database.exec('begin immediate')
      await delay(250)
      database.exec('rollback')
      await delay(1)
    }
    database.close()
  }

  async end(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end()
  }
}
