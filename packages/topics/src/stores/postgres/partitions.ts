import { ClosedError, NamespaceGoneError } from '../../errors.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'
import { LOCK_TIMEOUT_MS } from './database-errors.ts'

/** Ids to have room for ahead of a publish that can't be repeated, beside its own; fewer where partitions are tiny. */
const TX_HEADROOM = 10_000
const TX_HEADROOM_PARTITIONS = 20
const TX_RECHECK_MS = 1_000

type Known = { end: number; checkedAt: number; lastId: number }

/** Makes each topic's partitions before they are needed, so that no publish waits for one. */
export class Partitions {
  readonly #database: Database
  readonly #known = new Map<number, Known>()
  readonly #making = new Map<number, Promise<void>>()

  constructor(database: Database) {
    this.#database = database
  }

  /** In the background, once the last partition but one is half full. */
  makeAhead(topic: TopicRecord, lastId: number): void {
    const rows = topic.config.partitionRows
    const known = this.#known.get(topic.id)
    if (known && lastId < known.end - 1.5 * rows) return
    if (this.#making.has(topic.id)) return
    const making = this.make(topic, lastId + Math.ceil(rows / 2))
      .catch(error => {
        // The next publish tries again, and one that finds no partition makes it.
        const isOver = error instanceof ClosedError || error instanceof NamespaceGoneError
        if (!isOver) this.#warn(topic, error)
      })
      .finally(() => this.#making.delete(topic.id))
    this.#making.set(topic.id, making)
  }

  /** Now, for ids up to this one. */
  async make(topic: TopicRecord, upTo: number): Promise<void> {
    const end = await this.#database.expecting({ topic }, () =>
      this.#database.transaction(async client => {
        await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
        const { rows } = await client.query<{ end: string }>(
          this.#database.sql('select tidemark_fn.add_partitions($1, $2, $3) as end'),
          [topic.id, topic.config.partitionRows, upTo],
        )
        return Number(rows[0]?.end)
      }),
    )
    const known = this.#known.get(topic.id)
    this.#known.set(topic.id, { checkedAt: 0, lastId: 0, ...known, end })
  }

  /** The ids that were drawn by a publish that failed are gone; the next ones follow the sequence. */
  async makeForNext(topic: TopicRecord, count: number): Promise<void> {
    await this.make(topic, (await this.lastId(topic)) + count)
  }

  /** Before a publish in a caller's transaction, which could not be tried again. */
  async ensureRoom(topic: TopicRecord, count: number): Promise<void> {
    const room = count + Math.min(TX_HEADROOM, TX_HEADROOM_PARTITIONS * topic.config.partitionRows)
    const known = this.#known.get(topic.id)
    const isRecent = known !== undefined && performance.now() - known.checkedAt < TX_RECHECK_MS
    // A second's publishes of the whole system, at most, lie between that look and now.
    if (isRecent && known.lastId + 50 * room < known.end) return
    const lastId = await this.lastId(topic)
    if (!known || lastId + room >= known.end) await this.make(topic, lastId + room)
    const end = this.#known.get(topic.id)?.end ?? 0
    this.#known.set(topic.id, { end, lastId, checkedAt: performance.now() })
  }

  async lastId(topic: TopicRecord): Promise<number> {
    const [row] = await this.#database.expecting({ topic }, () =>
      this.#database.query(this.#database.sql('select tidemark_fn.last_id($1) as id'), [topic.id]),
    )
    return Number(row?.id)
  }

  #warn({ name }: TopicRecord, error: unknown): void {
    this.#database.logger.warn({ topic: name, err: error }, 'could not make a partition ahead')
  }

  /** Nothing is left running in the background. */
  async idle(): Promise<void> {
    await Promise.all(this.#making.values())
  }
}
