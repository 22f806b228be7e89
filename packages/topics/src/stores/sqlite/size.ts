import { statSync } from 'node:fs'
import type { StoredSize } from '../inspection.ts'
import { requiredRow } from './rows.ts'
import type { Transaction } from './transaction.ts'

const PAGES = `
  select c.page_count * s.page_size as bytes, f.freelist_count * s.page_size as free
  from pragma_page_count() as c, pragma_page_size() as s, pragma_freelist_count() as f`

/** Three numbers from the file's first page, and the sizes of the two files beside it. */
export function sizeOf(tx: Transaction): StoredSize {
  const { bytes, free } = requiredRow<{ bytes: number; free: number }>(tx.prepare(PAGES))
  const beside = tx.path === ':memory:' ? 0 : bytesOf(`${tx.path}-wal`) + bytesOf(`${tx.path}-shm`)
  return { bytes: bytes + beside, reusableBytes: free }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
