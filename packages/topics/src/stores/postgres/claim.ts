import { randomUUID } from 'node:crypto'
import { DatabaseError, DatabaseRewoundError, LeaseExpiredError } from '../../errors.ts'
import type { RawMessage } from '../../payload/raw-message.ts'
import { withTimeout } from '../../with-timeout.ts'
import { type ClaimRequest, type ClaimResult, type Lease, MOST_NAMED, type Suspects, type TakeOver } from '../leases.ts'
import type { Database } from './database.ts'
import { codeOf, mayHaveHappened } from './database-errors.ts'
import { decodeIds, decodePage, decodeXids } from './page.ts'
import { PageLimits } from './page-limits.ts'
import type { Row } from './row.ts'
import { type KnownPage, SharedRowCache } from './row-cache.ts'
import { settle } from './settle.ts'

const CLAIM = `
  select * from tidemark_fn.claim(
    row($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)::tidemark_fn.claim_request
  )`
const UNSETTLED =
  'select token, size from tidemark.lease where token = any($1) and done_at is null and expired_at is null'
const READ_LEASE = 'select * from tidemark_fn.read_lease($1, $2)'

/** The page exceeds the size limit, or what the server can assemble: program_limit_exceeded, out_of_memory. */
const TOO_LARGE = new Set(['54000', '53200'])
/** The server can't turn a payload into text. */
const NOT_TEXT = '22021'
/** The server fills in the consumer's name. */
const EXPIRED = new LeaseExpiredError('{consumer}').message

/** Longer than a claim takes. Waiting longer would mean waiting for a claim that waits for a lock. */
const PATIENCE_MS = 50

/** What a claim need not read: contents of rows that are probably cached, or a page that another group has read. */
type Reading = { readonly keysOnly: boolean; readonly known: KnownPage | undefined; readonly era: number }

/** The claims of one process. Its groups share the rows they read, and the record of unanswered claims. */
export class SharedClaims {
  readonly #database: Database
  readonly #rows: SharedRowCache
  /** Subscriptions whose last claim was full: more work is likely, so they skip the check before the lock. */
  readonly #busy = new Set<number>()
  readonly #limits = new PageLimits()
  /**
   * Claims whose answer was lost or not read, by subscription, with the time of that. Nobody holds the messages they
   * leased.
   */
  readonly #unanswered = new Map<number, Map<string, number>>()

  constructor(database: Database, rowCacheBytes: number) {
    this.#database = database
    this.#rows = new SharedRowCache(rowCacheBytes)
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { topic, subscription, shared } = request
    const everything = { keysOnly: false, known: undefined, era: this.#rows.era }
    if (!shared) return await this.#claim(request, everything)
    const fetch = this.#rows.fetchAt(topic.id, subscription.id)
    // At the head of the log, waiting saves little and costs time.
    if (fetch !== undefined && this.#busy.has(subscription.id)) await withTimeout(fetch, PATIENCE_MS)
    const { era } = this.#rows
    const known = this.#rows.nextPage(topic.id, subscription.id, request.limit)
    const keysOnly = this.#rows.isAhead(topic.id, subscription.id)
    if (known || keysOnly) return await this.#claim(request, { known, keysOnly, era })
    return await this.#rows.fetch(topic.id, subscription.id, () => this.#claim(request, { ...everything, era }))
  }

  /**
   * A new group starts at this place in the log. Other groups of this process may start there too, and they share its
   * first page.
   */
  placed(topicId: number, subscriptionId: number, place: string): void {
    this.#busy.add(subscriptionId)
    this.#rows.moved(subscriptionId, { topicId, lastId: 0, place })
  }

  /** A connection was lost: the server behind the next one may be another, or may have lost what was read. */
  forgetAll(): void {
    this.#busy.clear()
    this.#rows.beginEra()
  }

  forgetReader(topicId: number, subscriptionId: number, shared: boolean): void {
    this.#busy.delete(subscriptionId)
    this.#limits.forget(subscriptionId)
    this.#rows.forgetReader(subscriptionId)
    if (!shared) this.#rows.forgetTopic(topicId)
  }

  /** A page that is too large is released, or was rolled back by the server, and claimed again with fewer messages. */
  async #claim(asked: ClaimRequest, reading: Reading): Promise<ClaimResult> {
    const { subscription } = asked
    for (;;) {
      if (this.#unanswered.size > 0) await this.#giveBack(asked)
      const request = { ...asked, limit: this.#limits.of(subscription.id, asked.limit) }
      try {
        const result = await this.#ask(request, randomUUID(), reading)
        if (result.lease !== null) this.#limits.fitted(subscription.id, request.limit, asked.limit)
        return result
      } catch (error) {
        const isTooLarge = error instanceof DatabaseError && TOO_LARGE.has(codeOf(error.cause))
        if (!isTooLarge || !this.#limits.tooLarge(subscription.id, request.limit)) throw error
      }
    }
  }

  /** Whatever this claim leased is released before the next one. */
  #unread({ subscription }: ClaimRequest, id: string): void {
    const known = this.#unanswered.get(subscription.id) ?? new Map<string, number>()
    this.#unanswered.set(subscription.id, known.set(id, performance.now()))
  }

  /**
   * A claim whose answer was lost may have succeeded, or may still succeed while its statement runs. Without this its
   * messages would wait for the lease to expire, with `lease: 0` for ever. No handler has seen them, so the attempt
   * doesn't count.
   */
  async #giveBack({ topic, subscription }: ClaimRequest): Promise<void> {
    const unanswered = this.#unanswered.get(subscription.id)
    if (unanswered === undefined) return
    const lookedAt = performance.now()
    const tokens = [...unanswered.keys()]
    const rows = await this.#database.query(this.#database.sql(UNSETTLED), [tokens])
    const held = rows.map(({ token, size }) => ({
      ...{ token: token ?? '', size: Number(size), maxAttempts: topic.config.maxAttempts, acks: [], nacks: [] },
      releases: Array.from({ length: Number(size) }, (_, slot) => slot),
    }))
    await settle(this.#database, held, () => {})
    for (const { token } of held) unanswered.delete(token)
    // By then the server has long ended the statement.
    const overBefore = lookedAt - 2 * this.#database.statementTimeoutMs
    for (const token of tokens) if ((unanswered.get(token) ?? 0) < overBefore) unanswered.delete(token)
    if (unanswered.size === 0) this.#unanswered.delete(subscription.id)
  }

  async #ask(request: ClaimRequest, id: string, reading: Reading): Promise<ClaimResult> {
    const row = await this.#send(request, id, { ...reading, asBytes: false })
    // The topic or the group was deleted; if the whole namespace was, this throws.
    if (row.status === 'GONE') await this.#database.requireNamespace()
    const size = Number(row.size)
    if (size >= request.limit) this.#busy.add(request.subscription.id)
    else this.#busy.delete(request.subscription.id)
    const exceptions = exceptionsOf(row)
    const moves = Number(row.moves ?? 0)
    return {
      status: row.status as ClaimResult['status'],
      lease: size === 0 ? null : toLease(row, exceptions, id, await this.#read(request, row, id, reading)),
      takeOvers: exceptions.take_overs ?? [],
      deadLettered: exceptions.dead_lettered ?? 0,
      waiting: exceptions.waiting ?? 'none',
      conflict: row.conflict === 't',
      nextDueMs: row.next_due_ms === null ? null : Math.max(0, Math.ceil(Number(row.next_due_ms))),
      configVersion: Number(row.config_version ?? request.topic.configVersion),
      moves: { before: moves, after: row.has_moved === 't' ? moves + 1 : moves },
    }
  }

  async #send(request: ClaimRequest, id: string, how: Reading & { readonly asBytes: boolean }): Promise<Row> {
    const { topic, subscription, consumer, limit, suspects, sweep, forget, shared, leaseMs } = request
    const { keysOnly, known, asBytes } = how
    const isBusy = this.#busy.has(subscription.id)
    // In the order of claim_request in functions/types.sql.
    const values = [
      topic.id,
      topic.uid,
      subscription.id,
      subscription.uid,
      id,
      consumer,
      limit,
      suspects,
      sweep,
      isBusy,
      keysOnly,
      asBytes,
      shared,
      forget,
      known?.text ?? null,
      leaseMs,
      EXPIRED,
      MOST_NAMED,
    ]
    try {
      const [row] = await this.#database.query(this.#database.sql(CLAIM), values, 'tidemark_claim')
      return row ?? {}
    } catch (error) {
      const isText = error instanceof DatabaseError && codeOf(error.cause) === NOT_TEXT
      // Somebody wrote to the log by hand. The claim was rolled back; as bytes it succeeds.
      if (isText && !asBytes) return await this.#send(request, id, { ...how, asBytes: true })
      if (mayHaveHappened(error)) this.#unread(request, id)
      throw error
    }
  }

  /** The claim is committed by now, whatever goes wrong here. */
  async #read(request: ClaimRequest, row: Row, id: string, reading: Reading): Promise<readonly RawMessage[]> {
    try {
      return await this.#messages(request, row, id, reading)
    } catch (error) {
      this.#unread(request, id)
      throw error
    }
  }

  async #messages(
    request: ClaimRequest,
    row: Row,
    id: string,
    { keysOnly, known, era }: Reading,
  ): Promise<readonly RawMessage[]> {
    if (row.is_known === 't') return await this.#known(request, row, id, { known, era })
    const cached = keysOnly ? this.#cached(request, row, era) : undefined
    const messages = cached ?? (keysOnly ? undefined : decodePage(row))
    if (messages !== undefined) return this.#share(request, row, messages, era)
    return this.#share(request, row, await this.#readLease(request, id, !keysOnly), era)
  }

  /** The claim took a page that another group had read in this incarnation of the server. */
  async #known(
    request: ClaimRequest,
    row: Row,
    id: string,
    { known, era }: Pick<Reading, 'known' | 'era'>,
  ): Promise<readonly RawMessage[]> {
    if (known === undefined || era !== this.#rows.era) {
      const messages = await this.#readLease(request, id, false)
      if (messages.length !== Number(row.size)) throw this.#lost(request)
      return messages
    }
    const { topic, subscription } = request
    this.#rows.moved(subscription.id, { topicId: topic.id, lastId: known.lastId, place: row.at_id ?? null })
    return known.messages
  }

  /** The claimed rows, if all of them are cached. */
  #cached({ topic }: ClaimRequest, row: Row, era: number): RawMessage[] | undefined {
    if (era !== this.#rows.era) return undefined
    return this.#rows.rows(topic.id, row.server ?? '', decodeIds(row), decodeXids(row))
  }

  #share(
    { topic, subscription, shared, limit }: ClaimRequest,
    row: Row,
    messages: readonly RawMessage[],
    era: number,
  ): readonly RawMessage[] {
    if (!shared || era !== this.#rows.era) return messages
    const server = row.server ?? ''
    const kept = this.#rows.put(topic.id, server, messages)
    if (row.page && kept.length === Number(row.size)) this.#rows.putPage(topic.id, server, row.page, kept, limit)
    this.#rows.moved(subscription.id, {
      topicId: topic.id,
      lastId: messages.at(-1)?.id ?? 0,
      place: row.at_id ?? null,
    })
    return kept
  }

  /** Reads the rows of a lease again. A server that has lost the lease may have lost its rows too. */
  async #readLease(request: ClaimRequest, id: string, asBytes: boolean): Promise<RawMessage[]> {
    const text = this.#database.sql(READ_LEASE)
    const [row] = await this.#database.query(text, [id, asBytes], 'tidemark_read_lease')
    if (!row?.server) throw this.#lost(request)
    return decodePage(row) ?? (asBytes ? [] : await this.#readLease(request, id, true))
  }

  #lost({ topic, subscription }: ClaimRequest): DatabaseRewoundError {
    return DatabaseRewoundError.ofClaim(this.#database.location, topic.name, subscription.group)
  }
}

/** Present in few claims; otherwise null or missing. */
type Exceptions = {
  readonly take_overs?: readonly TakeOver[] | null
  readonly dead_lettered?: number | null
  readonly waiting?: Suspects | null
  readonly suspects?: Suspects | null
  readonly attempts?: readonly number[] | null
  readonly versions?: readonly number[] | null
  readonly slots?: readonly number[] | null
}

const NO_EXCEPTIONS: Exceptions = {}

const exceptionsOf = ({ exceptions }: Row): Exceptions => (exceptions ? JSON.parse(exceptions) : NO_EXCEPTIONS)

/** Rows may be gone by the time they are read; the remaining ones keep their slots. */
function toLease(row: Row, exceptions: Exceptions, id: string, messages: readonly RawMessage[]): Lease {
  const size = Number(row.size)
  const slots = messages.length === size ? null : slotsOf(row, exceptions, messages)
  const of = (list: readonly number[] | null = null): readonly number[] | null =>
    slots === null ? list : list && slots.map(slot => list[slot] ?? 1)
  return {
    token: id,
    size,
    messages,
    slots,
    versions: of(exceptions.versions),
    attempts: of(exceptions.attempts),
    suspects: exceptions.suspects ?? 'none',
  }
}

function slotsOf(row: Row, { slots }: Exceptions, messages: readonly RawMessage[]): number[] {
  const claimed = decodeIds(row)
  const slotOf = new Map(claimed.map((id, index) => [id, slots?.[index] ?? index]))
  return messages.map(({ id }) => slotOf.get(id) ?? 0)
}
