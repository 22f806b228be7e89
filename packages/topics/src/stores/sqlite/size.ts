import { statSync } from 'node:fs'
import type { StoredSize } from '../fan-out-store.ts'
import { type Connection, requiredRow } from './connection.ts'

const PAGES = `
  select c.page_count * s.page_size as bytes, f.freelist_count * s.page_size as free
  from pragma_page_count() as c, pragma_page_size() as s, pragma_freelist_count() as f`

/** Three numbers of the file's first page, and the sizes of the two files beside it. */
export function sizeOf(connection: Connection): StoredSize {
  const { bytes, free } = requiredRow<{ bytes: number; free: number }>(connection.prepare(PAGES))
  const beside =
    connection.path === ':memory:' ? 0 : bytesOf(`${connection.path}-wal`) + bytesOf(`${connection.path}-shm`)
  return { bytes: bytes + beside, reusableBytes: free }
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
