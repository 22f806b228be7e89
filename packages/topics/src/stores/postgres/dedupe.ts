import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'

const PRUNE_EVERY_MS = 60_000
const PRUNE_LIMIT = 10_000

const PRUNE = `
  delete from tidemark.dedupe
  -- as an array, and by a time that stays the same in a statement: otherwise the whole table is read
  where topic_id = $1 and message_id = any(array(
    select message_id
    from tidemark.dedupe
    where topic_id = $1 and created_at < statement_timestamp() - $2 * interval '1 millisecond'
    order by created_at
    limit ${PRUNE_LIMIT}
    for update skip locked
  ))`

/** Deletes messageIds past their window now and then, in the background of publishes that add new ones. */
export class DedupePruner {
  readonly #database: Database
  readonly #prunedAt = new Map<number, number>()
  readonly #running = new Set<Promise<void>>()

  constructor(database: Database) {
    this.#database = database
  }

  touch(topic: TopicRecord): void {
    const window = topic.config.dedupeWindowMs
    const now = performance.now()
    if (window === null || now - (this.#prunedAt.get(topic.id) ?? -PRUNE_EVERY_MS) < PRUNE_EVERY_MS) return
    this.#prunedAt.set(topic.id, now)
    const run: Promise<void> = this.#prune(topic, window).finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running)
  }

  async #prune(topic: TopicRecord, window: number): Promise<void> {
    try {
      await this.#database.transaction({ topic }, tx => tx.query(tx.sql(PRUNE), [topic.id, window]))
    } catch (error) {
      // Retried in the next minute.
      this.#database.logger.debug({ topic: topic.name, err: error }, 'could not prune old message ids')
    }
  }
}
