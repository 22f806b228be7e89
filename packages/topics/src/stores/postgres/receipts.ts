import type { Statements } from './transaction.ts'

const KEY = "select encode(receipt_key, 'hex') as key from tidemark.namespace"
const SIZE = 'select size from tidemark.lease where token = $1'

export async function readReceiptKey(statements: Statements): Promise<Uint8Array> {
  const [row] = await statements.query(statements.sql(KEY), [])
  return Buffer.from(row?.key ?? '', 'hex')
}

export async function leaseSize(statements: Statements, token: string): Promise<number | undefined> {
  const [row] = await statements.query(statements.sql(SIZE), [token], 'tidemark_lease_size')
  return row && Number(row.size)
}
