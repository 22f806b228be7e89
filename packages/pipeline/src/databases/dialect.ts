import type { IndexDatabase } from './index-database.ts'

/** A statement with `?` for values and `run.` before its tables, as the engine takes it. */
export function inDialect(text: string, engine: IndexDatabase['engine']): string {
  if (engine === 'sqlite') return text.replaceAll(/\brun\./g, '')
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

/** `(?, ?), (?, ?)`: for this many rows of this many columns. */
export function valueRows(rows: number, columns: number): string {
  const row = `(${Array<string>(columns).fill('?').join(', ')})`
  return Array<string>(rows).fill(row).join(', ')
}
