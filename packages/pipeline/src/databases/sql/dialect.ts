/**
 * Statements are written once for both engines: `$1` for values, and `run.` before the names of tables, which each
 * engine's connection translates when it first meets a statement. What differs beyond that is a fragment of its engine's
 * dialect (`sqlite/dialect.ts`, `postgres/dialect.ts`).
 */
export type Dialect = {
  /** The type of 64-bit whole numbers. SQLite's primary key is the row id only where it is called exactly this. */
  readonly integer: string
  readonly real: string
  readonly bytes: string
  /** The end of a `create table` whose primary key is not a single number. */
  readonly withoutRowId: string
  /** Unix milliseconds on the database's clock. */
  readonly now: string
  /** The functions for the lesser and the greater of two values. */
  readonly least: string
  readonly greatest: string
  /** Behind a text that is compared or sorted: by its bytes, as SQLite does anyway. */
  readonly byBytes: string
  /** At the end of a `select` by whoever changes the row afterwards. SQLite's writers have the whole file. */
  readonly forUpdate: string
  /** The numbers of a JSON array in the first parameter, as rows with a `value`. */
  readonly numbers: string
  /** Gives a row where there is a table of the name in the first parameter. */
  readonly tableExists: string
  /** What else a new table needs whose column `data` holds bytes that are compressed already. */
  readonly storeAsIs: (table: string) => readonly string[]
  /** How many rows one `insert` writes: few large ones, or many small ones. */
  readonly rowsPerInsert: { readonly large: number; readonly small: number }
}

/** `?` for values, as people write them who need no value twice, becomes `$1`, `$2`, … */
export function numbered(text: string): string {
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

/** `($1, $2), ($3, $4)`: for this many rows of this many columns. */
export function valueRows(rows: number, columns: number): string {
  const row = `(${Array<string>(columns).fill('?').join(', ')})`
  return numbered(Array<string>(rows).fill(row).join(', '))
}
