import type { SqlValue, Transaction } from '../transaction.ts'
import { valueRows } from './dialect.ts'

/** An `insert` of any number of rows, whose text is created once per number. */
export function insertOf(columns: number, text: (values: string) => string): (rows: number) => string {
  const texts = new Map<number, string>()
  return rows => {
    let found = texts.get(rows)
    if (found === undefined) {
      found = text(valueRows(rows, columns))
      texts.set(rows, found)
    }
    return found
  }
}

/** Inserts in as few statements as is fast on the engine. */
export async function insertRows<Row>(
  rows: readonly Row[],
  valuesOf: (row: Row) => SqlValue[],
  { insert, atOnce, tx }: { insert: (rows: number) => string; atOnce: number; tx: Transaction },
): Promise<void> {
  if (atOnce === 1) {
    const one = insert(1)
    for (const row of rows) await tx.run(one, ...valuesOf(row))
    return
  }
  for (let at = 0; at < rows.length; at += atOnce) {
    const part = rows.slice(at, at + atOnce)
    await tx.run(insert(part.length), ...part.flatMap(valuesOf))
  }
}
