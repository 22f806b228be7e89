import { randomUUID } from 'node:crypto'

/**
 * How a statement finds out whether it runs inside a transaction block. PostgreSQL has no function that says so, and no
 * client can be believed: a pool, a `db` or a client after its COMMIT take statements just the same, and each statement then
 * commits by itself.
 *
 * A transaction that has written has a transaction id before the statement assigns one; a statement by itself never has.
 * One that has not written yet is marked with a setting that ends with the transaction, and the statement is sent again:
 * outside a block the mark is gone by then, and so it is on another connection. (`now() = statement_timestamp()` does not
 * tell: with parameters they differ by themselves too.)
 */

/** Its prefix is not that of our tables, which is replaced by the namespace's. */
const SETTING = 'tidemark_tx.mark'
/** Nobody else's: a setting made by hand, for a whole session, must not pass for the mark. */
const MARK = randomUUID()

const IS_MARKED = `coalesce(current_setting('${SETTING}', true) = '${MARK}', false)`

/** To be computed before the statement takes a transaction id. */
export const IS_INSIDE = `(pg_current_xact_id_if_assigned() is not null or ${IS_MARKED})`

/** Marks the transaction, if there is one; the text is of no use. */
export const MARK_TRANSACTION = `set_config('${SETTING}', '${MARK}', true)`

export const INSIDE = 'inside'

/** Says whether it runs inside a transaction, and marks it where it doesn't seem to. */
export const CHECK_TRANSACTION = `select case when ${IS_INSIDE} then '${INSIDE}' else ${MARK_TRANSACTION} end as guard, $1::text as given`
