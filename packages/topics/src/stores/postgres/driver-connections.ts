import { createHash } from 'node:crypto'
import { withTimeout } from '../../with-timeout.ts'
import type { PoolUse } from '../inspection.ts'
import type { Connections, Ear, Sender, Statement } from './connections.ts'
import { CommitError, NotConnectedError } from './database-errors.ts'
import type { PostgresDriver, PostgresTransaction } from './driver.ts'
import { toParameter } from './parameters.ts'
import type { Row } from './row.ts'
import { SilenceError } from './session.ts'
import { BACKEND, type SilenceWatch, watchFor } from './silence-watch.ts'
import { serverLimit } from './statement-limits.ts'

type Limits = { readonly limitMs: number; readonly signal: AbortSignal }

const LONGEST_TIMER_MS = 0x7fff_ffff
/**
 * LISTEN occupies a connection of the pool; the rest must suffice for a transaction of the program and one of ours
 * beside it.
 */
const FEWEST_TO_LISTEN = 3

/**
 * Connections that the program lends through a driver and also uses itself. Their state is unknown, so nothing is set
 * for a whole session, nothing is closed, and a single statement gets its own BEGIN and COMMIT.
 */
export class DriverConnections implements Connections {
  readonly location: string
  readonly sendsBinary: boolean
  readonly isSingle: boolean
  readonly listen: Connections['listen']
  keepsSessions = false
  onLost: () => void = () => {}
  readonly #driver: PostgresDriver
  /** Two namespaces or versions on one connection must not share names of prepared statements. */
  readonly #suffix: string
  readonly #connectMs: number
  readonly #ears = new Set<Ear>()
  readonly #running = new Set<Deadline>()
  #busy = 0
  #waiting = 0

  /** `functions`: the schema of functions used in statements. `connectMs`: how long to wait for a connection. */
  constructor(driver: PostgresDriver, { functions, connectMs }: { functions: string; connectMs: number }) {
    this.#driver = driver
    this.#connectMs = connectMs
    this.location = driver.location
    this.sendsBinary = driver.sendsBinary ?? false
    this.isSingle = driver.maxConnections === 1
    this.#suffix = createHash('sha256').update(functions).digest('hex').slice(0, 12)
    const canListen = driver.listen !== undefined && (driver.name !== 'pg' || driver.maxConnections >= FEWEST_TO_LISTEN)
    if (canListen) this.listen = (channel, heard, limits) => this.#listen(channel, heard, limits)
  }

  async query(statement: Statement, limitMs: number): Promise<Row[]> {
    return await this.transaction(null, sender => sender.query(statement), limitMs)
  }

  async transaction<T>(
    look: string | null,
    work: (sender: Sender, row: Row | undefined) => Promise<T>,
    limitMs: number,
  ): Promise<T> {
    // With one connection nobody else can ask the server.
    const isLong = limitMs > this.#connectMs && !this.isSingle
    const setup = [limits(limitMs), ...(look === null ? [] : [look])].join('; ')
    const deadline = new Deadline()
    this.#running.add(deadline)
    this.#waiting++
    let hasBegun = false
    let isCommitting = false
    const begun = (): void => {
      if (!hasBegun) this.#waiting--
      hasBegun = true
    }
    deadline.set(this.#connectMs, () => this.#noneFree())
    const running = this.#driver.transaction(
      setup,
      async (tx, rows) => {
        begun()
        // The caller has given up waiting, so nothing may happen now.
        deadline.signal.throwIfAborted()
        this.#busy++
        const silence = (): SilenceError => this.#silence(limitMs)
        let watch: SilenceWatch | undefined
        const timed = <R>(answer: Promise<R>): Promise<R> => {
          deadline.set(limitMs, silence)
          const unwatch = watch?.(() => deadline.end(silence()))
          return answer.finally(() => {
            deadline.clear()
            unwatch?.()
          })
        }
        deadline.clear()
        try {
          const sender = this.#sender(tx, timed)
          if (isLong) watch = await this.#watchOf(sender)
          const result = await work(sender, rows.at(-1))
          isCommitting = true
          return result
        } finally {
          this.#busy--
          // The COMMIT or ROLLBACK has the same timeout as other statements.
          deadline.set(limitMs, silence)
        }
      },
      deadline.signal,
    )
    try {
      return await deadline.race(running)
    } catch (error) {
      throw isCommitting ? new CommitError(error) : error
    } finally {
      this.#running.delete(deadline)
      begun()
    }
  }

  use(): PoolUse {
    return { size: this.#driver.maxConnections, busy: this.#busy, waiting: this.#waiting }
  }

  /** The program's connections stay open; running statements are abandoned. */
  async close(withinMs: number): Promise<void> {
    for (const deadline of this.#running) deadline.end(new NotConnectedError('Tidemark was closed'))
    await withTimeout(Promise.all([...this.#ears].map(ear => ear.leave())), withinMs)
  }

  #sender(tx: PostgresTransaction, timed: <R>(send: Promise<R>) => Promise<R>): Sender {
    return {
      query: async ({ text, values, name }) => [
        ...(await timed(tx.query(text, values.map(toParameter), this.#nameOf(name)))),
      ],
      exec: async text => void (await timed(tx.exec(text))),
    }
  }

  async #watchOf(sender: Sender): Promise<SilenceWatch | undefined> {
    const [backend] = await sender.query({ text: BACKEND, values: [] })
    return backend && watchFor(backend, this.#connectMs, statement => this.query(statement, this.#connectMs))
  }

  #silence(limitMs: number): SilenceError {
    this.onLost()
    return new SilenceError(limitMs)
  }

  #nameOf(name: string | undefined): string | undefined {
    return name !== undefined && this.keepsSessions ? `${name}_${this.#suffix}` : undefined
  }

  #noneFree(): NotConnectedError {
    const { name, maxConnections } = this.#driver
    const holder = this.isSingle
      ? `the one connection of ${name} was`
      : `all ${maxConnections} connections of ${name} were`
    return new NotConnectedError(
      `${holder} in use for ${this.#connectMs} ms. Inside a transaction of yours, use Tidemark only with its tx`,
    )
  }

  async #listen(channel: string, heard: (payload: string | null) => void, { limitMs, signal }: Limits): Promise<Ear> {
    const gone = Promise.withResolvers<void>()
    const listening = this.#driver.listen?.(channel, { heard, lost: gone.resolve })
    if (listening === undefined) throw new NotConnectedError(`${this.#driver.name} can't listen`)
    const deadline = new Deadline()
    deadline.set(limitMs, () => this.#noneFree())
    const giveUp = (): void => deadline.end(new NotConnectedError('Tidemark was closed'))
    signal.addEventListener('abort', giveUp)
    const { query, close } = await deadline.race(listening).catch(error => {
      // A connection that arrives too late is closed.
      listening.then(late => late.close()).catch(() => undefined)
      throw error
    })
    signal.removeEventListener('abort', giveUp)
    const leave = async (): Promise<void> => {
      await withTimeout(
        close().catch(() => undefined),
        limitMs,
      )
      gone.resolve()
    }
    const ear: Ear = { gone: gone.promise, ...(query && { query }), destroy: () => void leave(), leave }
    this.#ears.add(ear)
    void gone.promise.then(() => this.#ears.delete(ear))
    return ear
  }
}

/** Restartable timer that every wait for a driver races against, so that every wait ends. */
class Deadline {
  readonly #over = new AbortController()
  readonly #late = Promise.withResolvers<never>()
  #timer: NodeJS.Timeout | undefined

  get signal(): AbortSignal {
    return this.#over.signal
  }

  set(ms: number, errorOf: () => Error): void {
    clearTimeout(this.#timer)
    if (this.signal.aborted) return
    this.#timer = setTimeout(() => this.end(errorOf()), Math.min(ms, LONGEST_TIMER_MS))
  }

  end(error: Error): void {
    this.#late.reject(error)
    this.#over.abort(error)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  /** The loser of the race is not waited for. */
  async race<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined)
    try {
      return await Promise.race([work, this.#late.promise])
    } finally {
      clearTimeout(this.#timer)
    }
  }
}

/**
 * Settings of this transaction alone: the program's limits are meant for its own statements, and its search_path must
 * not hide functions of the server.
 */
function limits(limitMs: number): string {
  const limit = serverLimit(limitMs)
  return (
    `set local search_path = pg_catalog, pg_temp; set local statement_timeout = ${limit}; set local lock_timeout = 0; ` +
    `set local idle_in_transaction_session_timeout = ${Math.min(0x7fff_ffff, 2 * limit)}`
  )
}
