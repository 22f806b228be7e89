import { reasonOf } from '../../errors/failure.ts'
import { DatabaseUnreachableError, TidemarkError, TransactionError } from '../../errors.ts'
import { codeOf, mapError } from './database-errors.ts'
import type { Row } from './row.ts'
import { CHECK_TRANSACTION, INSIDE } from './transaction-guard.ts'
import { isKnownToBeOpen, recognise } from './transaction-libraries.ts'

const LONGEST_TIMER_MS = 0x7fff_ffff
/** The parameter is sent twice if the transaction has to be marked; for a long one the transaction is marked first. */
const LONG_PARAMETER = 64 * 1024

const ABORTED = '25P02'
const READ_ONLY = '25006'

/** The caller's `tx`: runs statements in it, whatever library it comes from. */
export class CallerTransaction {
  readonly #send: (text: string, parameter: string) => Promise<Row[]>
  readonly #tx: unknown
  readonly #what: string
  readonly #where: { readonly location: string; readonly statementTimeoutMs: number }

  constructor(tx: unknown, where: { readonly location: string; readonly statementTimeoutMs: number }) {
    const { what, send } = recognise(tx)
    this.#tx = tx
    this.#what = what
    this.#send = send
    this.#where = where
  }

  /**
   * Runs a statement that does nothing outside a transaction and says so in its column `guard`. The first row returned
   * comes from a run inside the transaction.
   */
  async runInside(text: string, parameter: string): Promise<Row[]> {
    if (parameter.length > LONG_PARAMETER && !this.isKnownToBeOpen) await this.run(CHECK_TRANSACTION, '')
    for (let attempt = 1; attempt <= 2; attempt++) {
      const rows = await this.run(text, parameter)
      if (rows[0]?.guard === INSIDE) return rows
    }
    throw this.#notOpen()
  }

  /**
   * The library reports that the transaction is open and nothing else is running on it, so the server needn't be asked.
   */
  get isKnownToBeOpen(): boolean {
    return isKnownToBeOpen(this.#tx)
  }

  async requireOpen(): Promise<void> {
    await this.runInside(CHECK_TRANSACTION, '')
  }

  /** The caller's connection may go silent too; the outcome is then that of the caller's transaction. */
  async run(text: string, parameter: string): Promise<Row[]> {
    const { statementTimeoutMs, location } = this.#where
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new DatabaseUnreachableError(location, new Error(`No answer within ${statementTimeoutMs} ms`))),
      Math.min(statementTimeoutMs, LONGEST_TIMER_MS),
    )
    try {
      return await Promise.race([this.#send(text, parameter), late.promise])
    } catch (error) {
      throw this.#explain(error)
    } finally {
      clearTimeout(timer)
    }
  }

  #notOpen(): TransactionError {
    return new TransactionError(
      `The tx given to publish is ${this.#what} with no transaction open, so nothing was stored. Begin a transaction ` +
        'and pass the object that runs its statements: the connected client after BEGIN, or what your library gives ' +
        'to the callback of its transaction function',
    )
  }

  /** Server errors stay as they are, for callers that check the SQLSTATE; errors of the libraries are explained. */
  #explain(error: unknown): unknown {
    if (error instanceof TidemarkError) return error
    const cause = serverErrorOf(error)
    if (codeOf(cause) === ABORTED) {
      return new TransactionError(
        'The transaction given as tx is aborted, because an earlier statement in it failed. Nothing was stored. Roll it ' +
          'back, or back to a savepoint, and repeat it',
        cause,
      )
    }
    if (codeOf(cause) === READ_ONLY) {
      return new TransactionError(
        'The transaction given as tx is read-only. Nothing was stored. Begin it READ WRITE, on the primary server, to ' +
          'publish in it',
        cause,
      )
    }
    if (cause !== undefined) return cause
    const mapped = mapError(error, this.#where.location)
    if (mapped instanceof DatabaseUnreachableError && isLost(error)) return mapped
    return new TransactionError(
      `The tx given to publish, ${this.#what}, can't be used: ${reasonOf(error)}. Nothing was stored. Pass a ` +
        'transaction that is open and has not been committed or rolled back',
      error,
    )
  }
}

/** Lost just now, and the transaction with it. A client that was closed before has an error without a code. */
const isLost = (error: unknown): boolean => codeOf(error) !== '' || /^Connection terminated/.test(reasonOf(error))

/** Properties in which libraries keep the driver's error when they wrap it in their own. */
const WRAPPED_IN = ['cause', 'driverError', 'original', 'parent', 'previous', 'meta', 'driverAdapterError'] as const
const SQL_STATE = /^[0-9A-Z]{5}$/
const DEPTH = 5

/** The server's own error, with its SQLSTATE as `code`. */
function serverErrorOf(error: unknown, depth = 0): unknown {
  if (typeof error !== 'object' || error === null || depth > DEPTH) return undefined
  for (const name of WRAPPED_IN) {
    const found = name in error && serverErrorOf((error as Record<string, unknown>)[name], depth + 1)
    if (found) return found
  }
  return stateOf(error) === undefined ? undefined : withCode(error)
}

function stateOf(error: object): string | undefined {
  const { code, originalCode } = error as { code?: unknown; originalCode?: unknown }
  return [originalCode, code].find(each => typeof each === 'string' && isState(each)) as string | undefined
}

/**
 * EPIPE looks like a SQLSTATE. Prisma's codes, such as P2010, are not SQLSTATEs: the only class that begins with P is
 * P0.
 */
const isState = (code: string): boolean => SQL_STATE.test(code) && !/^(E[A-Z]{4}|P[1-9])/.test(code)

function withCode(error: object): unknown {
  const code = stateOf(error)
  if ('code' in error && error.code === code) return error
  const { originalMessage, message } = error as { originalMessage?: unknown; message?: unknown }
  return Object.assign(new Error(String(originalMessage ?? message), { cause: error }), { code })
}
