import { withTimeout } from '../../with-timeout.ts'
import type { PoolUse } from '../inspection.ts'
import type { Connections, Ear, Sender, Statement } from './connections.ts'
import { CommitError } from './database-errors.ts'
import type { Row } from './row.ts'
import { quoteIdentifier } from './schema-name.ts'
import { type ClientFactory, Session, type SessionConfig } from './session.ts'
import { SessionPool } from './session-pool.ts'
import { applySettings, hasSettings } from './session-settings.ts'
import { BACKEND, watchFor } from './silence-watch.ts'

export type OwnConnectionsOptions = {
  readonly client: ClientFactory
  readonly location: string
  readonly poolSize: number
  readonly statementTimeoutMs: number
  readonly onIdleError: (error: unknown) => void
}

type Limits = { readonly limitMs: number; readonly signal: AbortSignal }

/** A pool of our own connections, and dedicated ones outside it. */
export class OwnConnections implements Connections {
  readonly location: string
  readonly sendsBinary = true
  readonly isSingle = false
  keepsSessions = false
  onLost: () => void = () => {}
  readonly #pool: SessionPool
  readonly #config: SessionConfig
  readonly #statementTimeoutMs: number
  /** Every connection, including those outside the pool and those being made. */
  readonly #sessions = new Set<Session>()
  /**
   * When the latest statement was sent that was never answered. A connection that has not answered since is not
   * trusted.
   */
  #silentSince = Number.NEGATIVE_INFINITY

  constructor({ client, location, poolSize, statementTimeoutMs, onIdleError }: OwnConnectionsOptions) {
    this.location = location
    this.#statementTimeoutMs = statementTimeoutMs
    const config: SessionConfig = {
      client,
      limitMs: statementTimeoutMs,
      onSilence: sentAt => {
        this.#silentSince = Math.max(this.#silentSince, sentAt)
        this.onLost()
      },
    }
    this.#config = config
    const make = (): Session => this.#keep(new Session(config))
    this.#pool = new SessionPool({ size: poolSize, waitMs: statementTimeoutMs, make, onIdleError })
  }

  query(statement: Statement, limitMs: number): Promise<Row[]> {
    return this.#lend(session => session.query(this.#named(statement)), limitMs)
  }

  transaction<T>(
    look: string | null,
    work: (sender: Sender, row: Row | undefined) => Promise<T>,
    limitMs: number,
  ): Promise<T> {
    return this.#lend(async session => {
      try {
        const isLong = limitMs > this.#statementTimeoutMs
        const asked = [...(isLong ? [BACKEND] : []), ...(look === null ? [] : [look])]
        const [, ...answers] = await session.several(['begin', ...asked].join('; '))
        if (isLong) this.#watch(session, answers[0])
        const result = await work(this.#sender(session), look === null ? undefined : answers.at(-1)?.at(-1))
        await session.exec('commit').catch(error => {
          throw new CommitError(error)
        })
        return result
      } catch (error) {
        // If the rollback fails, dropping the connection rolls the transaction back, as after any error.
        if (!session.isGone) await session.exec('rollback').catch(() => undefined)
        throw error
      }
    }, limitMs)
  }

  async session<T>(work: (sender: Sender) => Promise<T>, limitMs: number): Promise<T> {
    const session = await this.#acquire(limitMs)
    try {
      this.#watch(session, await session.query({ text: BACKEND, values: [] }))
      return await work(this.#sender(session))
    } finally {
      this.#pool.release(session, true)
    }
  }

  apart(limitMs: number): Session {
    return this.#keep(new Session({ ...this.#config, limitMs }))
  }

  async listen(channel: string, heard: (payload: string | null) => void, { limitMs, signal }: Limits): Promise<Ear> {
    const session = this.apart(limitMs)
    const destroy = (): void => session.destroy()
    signal.addEventListener('abort', destroy)
    session.on('notification', ({ payload }: { payload?: string }) => heard(payload ?? ''))
    try {
      await session.connect()
      await session.exec(`listen ${quoteIdentifier(channel)}`)
    } catch (error) {
      session.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', destroy)
    }
    return {
      gone: session.gone,
      query: (text, values, name) => session.query({ text, values, name }),
      destroy: () => session.destroy(),
      leave: () => session.leave(),
    }
  }

  use(): PoolUse {
    return this.#pool.use()
  }

  /** Cuts every connection that takes longer to close. */
  async close(withinMs: number): Promise<void> {
    const all = [...this.#sessions]
    this.#pool.close()
    await withTimeout(Promise.all(all.map(session => session.gone)), withinMs)
    for (const session of all) session.destroy()
  }

  #watch(session: Session, [backend]: readonly Row[] = []): void {
    if (backend === undefined) return
    session.watch = watchFor(backend, this.#statementTimeoutMs, async statement => {
      const other = this.apart(this.#statementTimeoutMs)
      try {
        await other.connect()
        return await other.query(statement)
      } finally {
        void other.leave()
      }
    })
  }

  #sender(session: Session): Sender {
    return { query: statement => session.query(this.#named(statement)), exec: text => session.exec(text) }
  }

  #named(statement: Statement): Statement {
    return this.keepsSessions || statement.name === undefined ? statement : { ...statement, name: undefined }
  }

  #keep(session: Session): Session {
    this.#sessions.add(session)
    // Not for one that was closed on purpose.
    session.on('error', () => this.onLost())
    void session.gone.then(() => this.#sessions.delete(session))
    return session
  }

  async #lend<T>(work: (session: Session) => Promise<T>, limitMs: number): Promise<T> {
    const taken = this.#pool.acquire()
    const isReady = taken instanceof Session && this.#isTrusted(taken) && this.#hasLimit(taken, limitMs)
    const session = isReady ? taken : await this.#acquire(limitMs, taken)
    let isBroken = true
    try {
      const result = await work(session)
      isBroken = false
      return result
    } finally {
      this.#pool.release(session, isBroken)
    }
  }

  /** A connection that can be trusted to answer, with our settings applied. */
  async #acquire(limitMs: number, taken = this.#pool.acquire()): Promise<Session> {
    let session = await taken
    while (!this.#isTrusted(session)) {
      session.destroy()
      this.#pool.release(session, true)
      session = await this.#pool.acquire()
    }
    if (this.#hasLimit(session, limitMs)) return session
    try {
      await applySettings(session, this.keepsSessions, this.#statementTimeoutMs)
      return session
    } catch (error) {
      this.#pool.release(session, true)
      throw error
    }
  }

  /** Not if it is idle since before another connection fell silent: most likely both use the same network path. */
  #isTrusted({ answeredAt }: Session): boolean {
    return answeredAt >= this.#silentSince
  }

  /** Begins another use of it. False if its settings are others. */
  #hasLimit(session: Session, limitMs: number): boolean {
    session.limitMs = Math.max(limitMs, this.#statementTimeoutMs)
    session.watch = undefined
    return hasSettings(session, this.keepsSessions, this.#statementTimeoutMs)
  }
}
