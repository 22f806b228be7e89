/**
 * How the messages of an expired lease are redelivered. Any of them may have killed its process, so they are bisected:
 * the lease is split into pieces, a piece that fails again is split again, and on its last attempt a message is alone.
 *
 * n messages with r attempts left are split into k pieces, the smallest k whose r-th power reaches n: each of the r
 * attempts then divides by about k, and after the last division one is left. 1500 messages are split into 7 pieces with
 * four attempts left, into 39 with two, and into single messages with one.
 */

/**
 * Number of pieces into which an expired lease is split; at least two, so that a piece that fails again is always
 * split.
 *
 * @example
 * pieceCount(1_500, 4) // 7
 * pieceCount(1_500, 1) // 1500: each message alone
 */
export function pieceCount(messages: number, attemptsLeft: number): number {
  if (attemptsLeft <= 1) return messages
  let pieces = Math.min(2, messages)
  while (powerBelow(pieces, attemptsLeft, messages)) pieces++
  return pieces
}

/**
 * Piece of the message at this index. Pieces differ by one message at most.
 *
 * @example
 * const pieces = pieceCount(10, 3) // 3
 * pieceAt(9, 10, pieces) // 2: the last piece
 */
export const pieceAt = (place: number, messages: number, pieces: number): number =>
  Math.floor((place * pieces) / messages)

/** Integers only: PostgreSQL must compute exactly the same (`piece_count` in functions/lease-expiry.sql). */
function powerBelow(base: number, exponent: number, limit: number): boolean {
  let power = base
  for (let step = 1; step < exponent && power < limit; step++) power *= base
  return power < limit
}
