import type { Database } from './database.ts'

const KEY = "select encode(receipt_key, 'hex') as key from tidemark.namespace"
const SIZE = 'select size from tidemark.lease where token = $1'

export async function readReceiptKey(database: Database): Promise<Uint8Array> {
  const [row] = await database.queryAgain(database.sql(KEY), [])
  await database.requireNamespace()
  return Buffer.from(row?.key ?? '', 'hex')
}

export async function leaseSize(database: Database, token: string): Promise<number | undefined> {
  const [row] = await database.queryAgain(database.sql(SIZE), [token], 'tidemark_lease_size')
  if (row === undefined) await database.requireNamespace()
  return row && Number(row.size)
}
