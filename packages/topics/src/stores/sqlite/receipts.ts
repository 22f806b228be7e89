import { type Connection, requiredRow, rowOf } from './connection.ts'

export function readReceiptKey(connection: Connection): Uint8Array {
  const { receipt_key } = requiredRow<{ receipt_key: Uint8Array }>(
    connection.prepare('select receipt_key from tidemark_namespace'),
  )
  return receipt_key
}

export function leaseSize(connection: Connection, token: string): number | undefined {
  return rowOf<{ size: number }>(connection.prepare('select size from tidemark_lease where token = ?'), token)?.size
}
