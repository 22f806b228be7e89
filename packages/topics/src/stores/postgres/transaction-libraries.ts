import { TransactionError } from '../../errors.ts'
import type { Row } from './row.ts'

/** A library's transactions, recognised by shape, because Tidemark depends on none of these libraries. */
type Library = {
  /** What it is, for error messages. */
  readonly what: string
  is(tx: unknown): boolean
  /** Objects that are certainly no transaction; the server decides about the rest. */
  readonly others?: readonly { readonly what: string; is(tx: unknown): boolean }[]
  send(tx: unknown, text: string, parameter: string): unknown
}

export type Recognised = {
  readonly what: string
  /** Runs a statement with its one text parameter. */
  send(text: string, parameter: string): Promise<Row[]>
}

const ACCEPTED =
  'Pass a connected pg client after BEGIN, any object with query(text, values) inside a transaction, or the ' +
  'transaction of postgres.js, Kysely, Drizzle, Knex, pg-promise, TypeORM, MikroORM, Sequelize or Prisma'

/** The more specific shapes first. */
const LIBRARIES: readonly Library[] = [
  {
    // Transactions of an extended client have everything that the client has.
    what: 'a Prisma client',
    is: tx => hasMethod(tx, '$queryRawUnsafe'),
    send: (tx: Methods<'$queryRawUnsafe'>, text, parameter) => tx.$queryRawUnsafe(text, parameter),
  },
  {
    what: 'a transaction of Knex',
    is: tx => hasMethod(tx, 'raw') && hasMethod(tx, 'transaction') && 'client' in tx,
    others: [{ what: 'a Knex instance, not a transaction of it', is: tx => !isTrue(tx, 'isTransaction') }],
    send: (tx: Methods<'raw'>, text, parameter) => tx.raw(text.replaceAll('$1', '?'), [parameter]),
  },
  {
    what: 'a transaction of Sequelize',
    is: tx => hasMethod(tx, 'rollback') && hasObject(tx, 'sequelize') && hasMethod(tx.sequelize, 'query'),
    send: (tx: { sequelize: Methods<'query'> }, text, parameter) =>
      tx.sequelize.query(text, { bind: [parameter], transaction: tx, type: 'SELECT' }),
  },
  {
    what: 'an EntityManager of MikroORM',
    is: tx => hasMethod(tx, 'execute') && hasMethod(tx, 'isInTransaction'),
    others: [
      {
        what: 'an EntityManager of MikroORM outside transactional()',
        is: tx => hasMethod(tx, 'isInTransaction') && tx.isInTransaction() === false,
      },
    ],
    send: (tx: Methods<'execute'>, text, parameter) => tx.execute(text.replaceAll('$1', '?'), [parameter]),
  },
  {
    what: 'a postgres.js sql',
    is: tx => hasMethod(tx, 'unsafe'),
    others: [{ what: 'a postgres.js instance, not the sql of its begin()', is: tx => hasMethod(tx, 'begin') }],
    send: (tx: Methods<'unsafe'>, text, parameter) => tx.unsafe(text, [parameter]),
  },
  {
    // Other than a `Transaction` it is not refused: connection() returns one on which a program may have begun a
    // transaction itself.
    what: 'a Kysely object',
    is: tx => hasMethod(tx, 'executeQuery'),
    send: (tx: Methods<'executeQuery'>, text, parameter) => tx.executeQuery(kyselyQuery(text, parameter)),
  },
  {
    // Its `query` is its relational API, not a method. It takes parameters only through its own template tag, which we
    // cannot import.
    what: 'a Drizzle database',
    is: tx => hasMethod(tx, 'execute') && (!hasMethod(tx, 'query') || 'session' in tx),
    send: (tx: Methods<'execute'>, text, parameter) => tx.execute(text.replaceAll('$1', () => quoteLiteral(parameter))),
  },
  {
    what: 'an object with query(text, values)',
    is: tx => hasMethod(tx, 'query'),
    others: [
      {
        what: 'a pg Pool, of which every query may use another connection',
        is: tx => isObject(tx) && 'totalCount' in tx,
      },
      {
        what: 'a TypeORM DataSource, not the manager of its transaction()',
        is: tx => hasMethod(tx, 'createQueryRunner'),
      },
      { what: 'a pg-promise database, not the t of its tx()', is: tx => isObject(tx) && '$pool' in tx },
      { what: 'a Sequelize instance, not a transaction of it', is: tx => hasMethod(tx, 'authenticate') },
    ],
    send: (tx: Methods<'query'>, text, parameter) => tx.query(text, [parameter]),
  },
]

/** Refuses objects that are certainly no transaction. */
export function recognise(tx: unknown): Recognised {
  const library = LIBRARIES.find(each => each.is(tx))
  if (library === undefined) {
    throw new TransactionError(`The tx given to publish is not a transaction this store can use. ${ACCEPTED}`)
  }
  const { what, others = [], send } = library
  const other = others.find(each => each.is(tx))
  if (other !== undefined) throw new TransactionError(`The tx given to publish is ${other.what}. ${ACCEPTED}`)
  return { what, send: async (text, parameter) => rowsOf(await send(tx, text, parameter)) }
}

/**
 * A pg client with nothing in progress: the next statement runs in the transaction that the server's last answer
 * reported.
 */
export function isKnownToBeOpen(tx: unknown): boolean {
  return hasMethod(tx, 'getTransactionStatus') && isTrue(tx, 'readyForQuery') && tx.getTransactionStatus() === 'T'
}

/** The object that Kysely's `CompiledQuery.raw()` returns. */
function kyselyQuery(sql: string, parameter: string): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters: [parameter], query, queryId: { queryId: 'tidemark_publish' } }
}

function quoteLiteral(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

function rowsOf(result: unknown): Row[] {
  if (Array.isArray(result)) return result as Row[]
  if (isObject(result) && 'rows' in result && Array.isArray(result.rows)) return result.rows as Row[]
  throw new TransactionError(`The query of the tx given to publish returned no rows. ${ACCEPTED}`)
}

type Methods<Name extends string> = object & Record<Name, (...args: unknown[]) => unknown>

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null
}

function hasMethod<Name extends string>(value: unknown, name: Name): value is Methods<Name> {
  return isObject(value) && name in value && typeof (value as Record<string, unknown>)[name] === 'function'
}

function hasObject<Name extends string>(value: unknown, name: Name): value is Record<Name, object> {
  return isObject(value) && name in value && isObject((value as Record<string, unknown>)[name])
}

const isTrue = (value: unknown, name: string): boolean =>
  isObject(value) && name in value && (value as Record<string, unknown>)[name] === true
