/**
 * Statements are written once for both engines, with `$1` for values and `run.` before the names of tables; each
 * engine's connection translates a statement when it first sees it. Other differences are fragments of the engine's
 * dialect (`sqlite/dialect.ts`, `postgres/dialect.ts`).
 */
export type Dialect = {
  /** Type of 64-bit whole numbers. On SQLite the primary key is the row id only with exactly this name. */
  readonly integer: string
  readonly real: string
  readonly bytes: string
  /** End of a `create table` whose primary key is not a single number. */
  readonly withoutRowId: string
  /** Milliseconds since 1970, by the database's clock. */
  readonly now: string
  /** Functions for the lesser and the greater of two values. */
  readonly least: string
  readonly greatest: string
  /** Follows a text that is compared or sorted: by its bytes, as SQLite always does. */
  readonly byBytes: string
  /** End of a `select` whose row is changed afterwards. On SQLite a writer holds the whole file. */
  readonly forUpdate: string
  /** Numbers of a JSON array in the first parameter, as rows with a `value`. */
  readonly numbers: string
  /** Returns a row if a table with the name in the first parameter exists. */
  readonly tableExists: string
  /** Returns a row if the table in the first parameter has the column in the second. */
  readonly columnExists: string
  /** Additional statement for a new table whose column `data` holds compressed bytes. */
  readonly storeAsIs: (table: string) => readonly string[]
  /** Rows per `insert`: few large ones, or many small ones. */
  readonly rowsPerInsert: { readonly large: number; readonly small: number }
}

/** Replaces `?`, for statements that use no value twice, by `$1`, `$2`, … */
export function numbered(text: string): string {
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

/** `($1, $2), ($3, $4)` for this many rows of this many columns. */
export function valueRows(rows: number, columns: number): string {
  const row = `(${Array<string>(columns).fill('?').join(', ')})`
  return numbered(Array<string>(rows).fill(row).join(', '))
}
