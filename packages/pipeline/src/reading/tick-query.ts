import { ConfigError } from 'tidemark'
import type { TickQuery } from './run-index.ts'

/** A range that ends before it begins is a mistake, not an empty range. */
export function checkOrder({ from, to }: TickQuery): void {
  if (from !== undefined && to !== undefined && from > to) throw new ConfigError('to', to, `at least 'from', ${from}`)
}
