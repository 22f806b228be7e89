import { requiredRow, rowOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

export function readReceiptKey(tx: Transaction): Uint8Array {
  const { receipt_key } = requiredRow<{ receipt_key: Uint8Array }>(
    tx.prepare('select receipt_key from tidemark_namespace'),
  )
  return receipt_key
}

export function leaseSize(tx: Transaction, token: string): number | undefined {
  return rowOf<{ size: number }>(tx.prepare('select size from tidemark_lease where token = ?'), token)?.size
}
