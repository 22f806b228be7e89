import { randomUUID } from 'node:crypto'

/**
 * How a statement finds out whether it runs inside a transaction block. PostgreSQL has no function for that, and the
 * client object proves nothing: a pool, a `db` or a client after its COMMIT accept statements just the same, and each
 * statement then commits on its own.
 *
 * A transaction that has written has a transaction id before the statement assigns one; a single statement never has. A
 * transaction that has not written yet is marked with a setting that ends with the transaction, and the statement is
 * sent again: outside a block, or on another connection, the mark is gone by then. (`now() = statement_timestamp()` is
 * no proof: with parameters they differ outside a transaction too.)
 */

/** Not the prefix of our tables, which is replaced by the namespace's schema. */
const SETTING = 'tidemark_tx.mark'
/** Unique to this process: a setting made by hand for a whole session must not pass for the mark. */
const MARK = randomUUID()

const IS_MARKED = `coalesce(current_setting('${SETTING}', true) = '${MARK}', false)`

/** Must be evaluated before the statement takes a transaction id. */
export const IS_INSIDE = `(pg_current_xact_id_if_assigned() is not null or ${IS_MARKED})`

/** Marks the transaction, if there is one; the returned text is not used. */
export const MARK_TRANSACTION = `set_config('${SETTING}', '${MARK}', true)`

export const INSIDE = 'inside'

/** Says whether it runs inside a transaction, and marks the transaction if that is not certain. */
export const CHECK_TRANSACTION = `select case when ${IS_INSIDE} then '${INSIDE}' else ${MARK_TRANSACTION} end as guard, $1::text as given`
