import pg from 'pg'
import { TransactionError } from '../../errors.ts'
import type { Row } from './row.ts'

const ACCEPTED =
  'Give a connected pg Client inside BEGIN, any object with query(text, values), the sql of postgres.js begin(), ' +
  'or the trx of a Kysely or Drizzle transaction'

/** Runs a statement with its one text parameter in the caller's transaction, whatever library that comes from. */
export async function runInTransaction(tx: unknown, text: string, parameter: string): Promise<Row[]> {
  return rowsOf(await send(tx, text, parameter))
}

async function send(tx: unknown, text: string, parameter: string): Promise<unknown> {
  if (hasMethod(tx, 'unsafe')) {
    refuse(hasMethod(tx, 'begin'), 'a postgres.js instance outside begin()')
    return await tx.unsafe(text, [parameter])
  }
  if (hasMethod(tx, 'executeQuery')) {
    refuse('isTransaction' in tx && tx.isTransaction === false, 'a Kysely instance, not a transaction of one')
    return await tx.executeQuery(kyselyQuery(text, parameter))
  }
  if (hasMethod(tx, 'query') && !isDrizzle(tx)) {
    refuse(tx instanceof pg.Pool, 'a pool, of which every query may use another connection')
    refuse(
      hasMethod(tx, 'getTransactionStatus') && tx.getTransactionStatus() === 'I',
      'a client with no open transaction',
    )
    return await tx.query(text, [parameter])
  }
  // Drizzle takes parameters only through its own template tag, which is not ours to import.
  if (hasMethod(tx, 'execute')) return await tx.execute(text.replaceAll('$1', () => quoteLiteral(parameter)))
  throw new TransactionError(`The tx given to publish is not a transaction this store can use. ${ACCEPTED}`)
}

/** Drizzle's `query` is its relational API, not a method. */
const isDrizzle = (tx: object): boolean => 'execute' in tx && 'session' in tx

function refuse(isWrong: boolean, what: string): void {
  if (isWrong) throw new TransactionError(`The tx given to publish is ${what}. ${ACCEPTED}`)
}

/** What Kysely's `CompiledQuery.raw()` makes. */
function kyselyQuery(sql: string, parameter: string): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters: [parameter], query, queryId: { queryId: 'tidemark_publish' } }
}

function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

function rowsOf(result: unknown): Row[] {
  if (Array.isArray(result)) return result as Row[]
  if (typeof result === 'object' && result !== null && 'rows' in result && Array.isArray(result.rows)) {
    return result.rows as Row[]
  }
  throw new TransactionError(`The query of the tx given to publish returned no rows. ${ACCEPTED}`)
}

type WithMethod<Name extends string> = object & Record<Name, (...args: unknown[]) => unknown>

function hasMethod<Name extends string>(value: unknown, name: Name): value is WithMethod<Name> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return name in value && typeof (value as Record<string, unknown>)[name] === 'function'
}
