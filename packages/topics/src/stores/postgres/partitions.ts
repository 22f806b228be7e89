import { ClosedError, DatabaseError, DatabaseLockedError, NamespaceGoneError } from '../../errors.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { CallerTransaction } from './caller-transaction.ts'
import type { Database } from './database.ts'
import { codeOf, LOCK_TIMEOUT_MS } from './database-errors.ts'
import type { Transaction } from './transaction.ts'

/**
 * Ids to have room for ahead of a publish that can't be repeated, in addition to its own; fewer if partitions are tiny.
 */
const TX_HEADROOM = 10_000
const TX_HEADROOM_PARTITIONS = 20
const TX_RECHECK_MS = 1_000

/** Maximum number of partitions that maintenance creates ahead, for publishes until its next run. */
const MOST_AHEAD = 20
/** If this user may not create partitions, how often to check whether somebody else has. */
const REFUSED_FOR_MS = 60_000
const NOT_ALLOWED = '42501'

type Known = { end: number; checkedAt: number; lastId: number }

/** Creates each topic's partitions before they are needed, so that no publish waits for one. */
export class Partitions {
  readonly #database: Database
  /** By topic: the last id at the previous maintenance run. */
  readonly #cleanedUp = new Map<number, number>()
  readonly #known = new Map<number, Known>()
  readonly #making = new Map<number, Promise<void>>()
  /** By topic: until when this user is known to lack the permission to create any. */
  readonly #refused = new Map<number, number>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Call this for a new topic: it has two partitions. */
  created({ id, config }: TopicRecord): void {
    this.#known.set(id, { checkedAt: 0, lastId: 0, end: 2 * config.partitionRows })
  }

  /** In the background, once the last partition but one is half full. */
  makeAhead(topic: TopicRecord, lastId: number): void {
    const rows = topic.config.partitionRows
    const known = this.#known.get(topic.id)
    if (known && lastId < known.end - 1.5 * rows) return
    if (this.#making.has(topic.id) || performance.now() < (this.#refused.get(topic.id) ?? 0)) return
    const making = this.make(topic, lastId + Math.ceil(rows / 2))
      .catch(error => {
        // The next publish tries again, and one that finds no partition creates it.
        const isOver = error instanceof ClosedError || error instanceof NamespaceGoneError
        if (isRefused(error)) this.#refused.set(topic.id, performance.now() + REFUSED_FOR_MS)
        if (!isOver) this.#warn(topic, error)
      })
      .finally(() => this.#making.delete(topic.id))
    this.#making.set(topic.id, making)
  }

  /** Creates partitions now, for ids up to this one. */
  async make(topic: TopicRecord, upTo: number): Promise<void> {
    const end = await this.#database.transaction({ topic }, tx => addPartitions(tx, topic, upTo))
    const known = this.#known.get(topic.id)
    this.#known.set(topic.id, { checkedAt: 0, lastId: 0, ...known, end })
  }

  /**
   * Run by maintenance, for publishers whose user may not create any: at least one partition, and room for four times
   * what was published since its last run.
   */
  async keepAhead(topic: TopicRecord): Promise<void> {
    const rows = topic.config.partitionRows
    const lastId = await this.lastId(topic)
    const drawn = lastId - (this.#cleanedUp.get(topic.id) ?? lastId)
    this.#cleanedUp.set(topic.id, lastId)
    const upTo = lastId + Math.min(MOST_AHEAD * rows, Math.max(rows, 4 * drawn))
    // Somebody holds the log's lock: the next run creates them.
    await this.make(topic, upTo).catch(error => {
      if (!(error instanceof DatabaseLockedError)) throw error
    })
  }

  /** Ids drawn by a failed publish are lost; the next ones follow the sequence. */
  async makeForNext(topic: TopicRecord, count: number): Promise<void> {
    try {
      await this.make(topic, (await this.lastId(topic)) + count)
    } catch (error) {
      throw isRefused(error) ? noPartitionError(topic, this.#database.location, error) : error
    }
  }

  /** Before a publish in a caller's transaction, which could not be retried. */
  async ensureRoom(topic: TopicRecord, count: number): Promise<void> {
    const room = count + Math.min(TX_HEADROOM, TX_HEADROOM_PARTITIONS * topic.config.partitionRows)
    const known = this.#known.get(topic.id)
    const isRecent = known !== undefined && performance.now() - known.checkedAt < TX_RECHECK_MS
    // At most one second of the whole system's publishes lies between that read and now.
    if (isRecent && known.lastId + 50 * room < known.end) return
    const lastId = await this.lastId(topic)
    if (!known || lastId + room >= known.end) await this.#makeOrFind(topic, lastId + room, lastId + count)
    const end = this.#known.get(topic.id)?.end ?? 0
    this.#known.set(topic.id, { end, lastId, checkedAt: performance.now() })
  }

  /**
   * The same if the caller's transaction occupies the only connection. Partitions created this way are not remembered,
   * because the transaction may be rolled back.
   */
  async ensureRoomIn(caller: CallerTransaction, topic: TopicRecord, count: number): Promise<void> {
    const id = String(topic.id)
    const [last] = await caller.run(this.#database.sql('select tidemark_fn.last_id($1::text::int) as id'), id)
    const upTo = Number(last?.id) + count
    const known = this.#known.get(topic.id)
    if (known !== undefined && upTo < known.end) return
    const rows = topic.config.partitionRows
    const add = `select tidemark_fn.add_partitions($1::text::int, ${rows}, ${upTo + Math.ceil(rows / 2)}) as end`
    await caller.run(this.#database.sql(add), id)
  }

  /** If this user may not create any, the existing ones must suffice for what is `needed`. */
  async #makeOrFind(topic: TopicRecord, upTo: number, needed: number): Promise<void> {
    try {
      await this.make(topic, upTo)
    } catch (error) {
      if (!isRefused(error)) throw error
      const room = await this.#database.read({ topic }, tx => roomOf(tx, topic))
      const end = (await this.lastId(topic)) + room + 1
      if (needed >= end) throw noPartitionError(topic, this.#database.location, error)
      this.#known.set(topic.id, { checkedAt: 0, lastId: 0, end })
    }
  }

  lastId(topic: TopicRecord): Promise<number> {
    return this.#database.read({ topic }, tx => lastId(tx, topic))
  }

  #warn({ name }: TopicRecord, error: unknown): void {
    this.#database.logger.warn({ topic: name, err: error }, 'could not make a partition ahead')
  }

  /** Resolves when nothing is running in the background. */
  async idle(): Promise<void> {
    await Promise.all(this.#making.values())
  }
}

/** Returns the id at which the last one ends. */
async function addPartitions(tx: Transaction, topic: TopicRecord, upTo: number): Promise<number> {
  await tx.exec(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  const text = tx.sql('select tidemark_fn.add_partitions($1, $2, $3) as end')
  const [row] = await tx.query(text, [topic.id, topic.config.partitionRows, upTo])
  return Number(row?.end)
}

async function roomOf(tx: Transaction, topic: TopicRecord): Promise<number> {
  const text = tx.sql('select room from tidemark_fn.partition_room() where topic_id = $1')
  const [row] = await tx.query(text, [topic.id])
  return Number(row?.room ?? 0)
}

async function lastId(tx: Transaction, topic: TopicRecord): Promise<number> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.last_id($1) as id'), [topic.id])
  return Number(row?.id)
}

const isRefused = (error: unknown): boolean => error instanceof Error && codeOf(error.cause) === NOT_ALLOWED

const noPartitionError = ({ name }: TopicRecord, location: string, cause: unknown): DatabaseError =>
  new DatabaseError(
    `Topic '${name}' at ${location} has no partition for new messages, and this user may not create one. Run 'tidemark ` +
      `migrate' as the owner of the tables, and keep a process with maintenance running as that user`,
    cause,
  )
