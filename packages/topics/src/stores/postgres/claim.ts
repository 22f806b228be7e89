import { randomUUID } from 'node:crypto'
import { DatabaseError, LeaseExpiredError } from '../../errors.ts'
import type { RawMessage } from '../../raw-message.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { ClaimRequest, ClaimResult, Lease } from '../store.ts'
import type { Database, Row } from './database.ts'
import { codeOf } from './database-errors.ts'
import { decodeIds, decodePage } from './page.ts'
import { type KnownPage, placeOf, SharedRows } from './shared-rows.ts'

const CLAIM = 'select * from tidemark.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)'
const READ_LEASE = 'select * from tidemark.read_lease($1, $2)'

/** The server can't turn a payload into text. */
const NOT_TEXT = '22021'
/** The server puts the consumer's name in. */
const EXPIRED = new LeaseExpiredError('{consumer}').message

/** Longer than a claim takes; one that waits for a lock is not waited for. */
const PATIENCE_MS = 50

/** What a claim need not read: rows of which it needs only the keys, or a page that another group has read. */
type Reading = { readonly keysOnly: boolean; readonly known: KnownPage | undefined }

const EVERYTHING: Reading = { keysOnly: false, known: undefined }

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
    const { topic, subscription, shared } = request
    if (!shared) return await this.#claim(request, EVERYTHING)
    const fetch = this.#rows.fetchAt(topic.id, subscription.id)
    // At the end of the log there is little to be spared by waiting, and time to be lost.
    if (fetch !== undefined && this.#busy.has(subscription.id)) await withTimeout(fetch, PATIENCE_MS)
    const known = this.#rows.nextPage(topic.id, subscription.id)
    const keysOnly = this.#rows.isAhead(topic.id, subscription.id)
    if (known || keysOnly) return await this.#claim(request, { known, keysOnly })
    return await this.#rows.fetch(topic.id, subscription.id, () => this.#claim(request, EVERYTHING))
  }

  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void {
    this.#busy.delete(subscriptionId)
    this.#rows.forgetReader(subscriptionId)
    if (!shared) this.#rows.forgetTopic(topicId)
  }

  async #claim(request: ClaimRequest, reading: Reading): Promise<ClaimResult> {
    const id = randomUUID()
    const row = await this.#send(request, id, { ...reading, asBytes: false })
    const size = Number(row.size)
    if (size >= request.limit) this.#busy.add(request.subscription.id)
    else this.#busy.delete(request.subscription.id)
    return {
      status: row.status as ClaimResult['status'],
      lease: size === 0 ? null : toLease(row, id, size, await this.#messages(request, row, id, reading)),
      takenOver: Number(row.taken_over),
      deadLettered: Number(row.dead_lettered),
      conflict: row.conflict === 't',
      nextDueMs: row.next_due_ms === null ? null : Math.max(0, Math.ceil(Number(row.next_due_ms))),
      configVersion: Number(row.config_version ?? request.topic.configVersion),
    }
  }

  async #send(request: ClaimRequest, id: string, how: Reading & { readonly asBytes: boolean }): Promise<Row> {
    const { topic, subscription, consumer, limit, suspects, sweep, forget, shared } = request
    const { keysOnly, known, asBytes } = how
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
      shared,
      known?.text ?? null,
    ]
    try {
      const [row] = await this.#database.queryAgain(this.#database.sql(CLAIM), values, 'tidemark_claim')
      return row ?? {}
    } catch (error) {
      const isText = error instanceof DatabaseError && codeOf(error.cause) === NOT_TEXT
      // Someone wrote to the log by hand. The claim was undone; as bytes it goes through.
      if (isText && !asBytes) return await this.#send(request, id, { ...how, asBytes: true })
      throw error
    }
  }

  async #messages(
    request: ClaimRequest,
    row: Row,
    id: string,
    { keysOnly, known }: Reading,
  ): Promise<readonly RawMessage[]> {
    if (known !== undefined && row.is_known === 't') {
      this.#rows.moved(request.subscription.id, { lastId: known.lastId, place: known.end })
      return known.messages
    }
    if (keysOnly) return await this.#fromCache(request, row, id)
    const messages = decodePage(row) ?? (await this.#readLease(id, true))
    return request.shared ? this.#share(request, row, messages) : messages
  }

  /** The keys of the page are claimed; its rows are cached, or fetched together. */
  async #fromCache(request: ClaimRequest, row: Row, id: string): Promise<readonly RawMessage[]> {
    const ids = decodeIds(row)
    const rows: RawMessage[] = []
    for (const each of ids) {
      const cached = this.#rows.get(request.topic.id, each)
      if (cached === undefined) break
      rows.push(cached)
    }
    if (rows.length === ids.length) return this.#share(request, row, rows)
    return this.#share(request, row, await this.#readLease(id, false))
  }

  #share({ topic, subscription }: ClaimRequest, row: Row, messages: readonly RawMessage[]): readonly RawMessage[] {
    const place = row.last_xid ? placeOf(row.last_xid, row.last_id) : null
    this.#rows.moved(subscription.id, { lastId: messages.at(-1)?.id ?? 0, place })
    const shared = this.#rows.put(topic.id, messages)
    if (row.page && shared.length === Number(row.size)) this.#rows.putPage(topic.id, row.page, shared)
    return shared
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
