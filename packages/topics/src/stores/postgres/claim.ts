import { randomUUID } from 'node:crypto'
import { DatabaseError, LeaseExpiredError } from '../../errors.ts'
import type { RawMessage } from '../../raw-message.ts'
import type { ClaimRequest, ClaimResult, Lease } from '../store.ts'
import type { Database, Row } from './database.ts'
import { codeOf } from './database-errors.ts'
import { decodeIds, decodePage } from './page.ts'
import { SharedRows } from './shared-rows.ts'

const CLAIM = 'select * from tidemark.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)'
const READ_LEASE = 'select * from tidemark.read_lease($1, $2)'

/** The server can't turn a payload into text. */
const NOT_TEXT = '22021'
/** The server puts the consumer's name in. */
const EXPIRED = new LeaseExpiredError('{consumer}').message

export class Claimer {
  readonly #database: Database
  readonly #rows: SharedRows
  /** Subscriptions whose last claim was full: more is likely to be there, so the look before the lock is left out. */
  readonly #busy = new Set<number>()

  constructor(database: Database, rowCacheBytes: number) {
    this.#database = database
    this.#rows = new SharedRows(rowCacheBytes)
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const id = randomUUID()
    const keysOnly = request.shared && this.#rows.isAhead(request.topic.id, request.subscription.id)
    const row = await this.#send(request, id, keysOnly)
    const size = Number(row.size)
    if (size >= request.limit) this.#busy.add(request.subscription.id)
    else this.#busy.delete(request.subscription.id)
    return {
      status: row.status as ClaimResult['status'],
      lease: size === 0 ? null : toLease(row, id, size, await this.#messages(request, row, id, keysOnly)),
      takenOver: Number(row.taken_over),
      deadLettered: Number(row.dead_lettered),
      conflict: row.conflict === 't',
      nextDueMs: row.next_due_ms === null ? null : Math.max(0, Math.ceil(Number(row.next_due_ms))),
      configVersion: Number(row.config_version ?? request.topic.configVersion),
    }
  }

  async #send(request: ClaimRequest, id: string, keysOnly: boolean, asBytes = false): Promise<Row> {
    const { topic, subscription, consumer, limit, suspects, sweep, forget } = request
    const isBusy = this.#busy.has(subscription.id)
    const values = [
      topic.id,
      subscription.id,
      id,
      consumer,
      limit,
      suspects,
      sweep,
      isBusy,
      keysOnly,
      asBytes,
      forget,
      EXPIRED,
    ]
    try {
      const [row] = await this.#database.queryAgain(this.#database.sql(CLAIM), values, 'tidemark_claim')
      return row ?? {}
    } catch (error) {
      const isText = error instanceof DatabaseError && codeOf(error.cause) === NOT_TEXT
      // Someone wrote to the log by hand. The claim was undone; as bytes it goes through.
      if (isText && !asBytes) return await this.#send(request, id, keysOnly, true)
      throw error
    }
  }

  async #messages(request: ClaimRequest, row: Row, id: string, keysOnly: boolean): Promise<readonly RawMessage[]> {
    if (keysOnly) return await this.#fromCache(request, row, id)
    const messages = decodePage(row) ?? (await this.#readLease(id, true))
    return request.shared ? this.#share(request, messages, false) : messages
  }

  /** The keys of the page are claimed; its rows are cached, or fetched together. */
  async #fromCache(request: ClaimRequest, row: Row, id: string): Promise<readonly RawMessage[]> {
    const { topic, subscription } = request
    const ids = decodeIds(row)
    const rows: RawMessage[] = []
    for (const each of ids) {
      const cached = this.#rows.get(topic.id, each)
      if (cached === undefined) break
      rows.push(cached)
    }
    const isComplete = rows.length === ids.length
    if (!isComplete) return this.#share(request, await this.#readLease(id, false), true)
    this.#rows.moved(subscription.id, ids.at(-1) ?? 0, false)
    return rows
  }

  #share(
    { topic, subscription }: ClaimRequest,
    messages: readonly RawMessage[],
    missed: boolean,
  ): readonly RawMessage[] {
    this.#rows.moved(subscription.id, messages.at(-1)?.id ?? 0, missed)
    return this.#rows.put(topic.id, messages)
  }

  async #readLease(id: string, asBytes: boolean): Promise<RawMessage[]> {
    const text = this.#database.sql(READ_LEASE)
    const [row] = await this.#database.queryAgain(text, [id, asBytes], 'tidemark_read_lease')
    const messages = row && decodePage(row)
    if (messages === undefined && !asBytes) return await this.#readLease(id, true)
    return messages ?? []
  }
}

/** Rows may be gone by the time they are read: what is there keeps its slot. */
function toLease(row: Row, id: string, size: number, messages: readonly RawMessage[]): Lease {
  const slots = messages.length === size ? null : slotsOf(row, messages)
  const of = (list: number[] | null): number[] | null =>
    slots === null ? list : list && slots.map(slot => list[slot] ?? 1)
  return {
    token: id,
    size,
    messages,
    slots,
    versions: of(integers(row.versions)),
    attempts: of(integers(row.attempts)),
    suspect: row.suspect === 't',
  }
}

function slotsOf(row: Row, messages: readonly RawMessage[]): number[] {
  const claimed = decodeIds(row)
  const slots = integers(row.slots)
  const slotOf = new Map(claimed.map((id, index) => [id, slots?.[index] ?? index]))
  return messages.map(({ id }) => slotOf.get(id) ?? 0)
}

/** An int[] as the server writes it: {1,2}. */
const integers = (text: string | null | undefined): number[] | null =>
  text ? text.slice(1, -1).split(',').map(Number) : null
