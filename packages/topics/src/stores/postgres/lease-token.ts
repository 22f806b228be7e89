/**
 * A lease's token as callers know it: its random id and its size. With the size, a settlement of a lease that is long
 * forgotten can still say which slots it came too late for.
 */
export const leaseToken = (id: string, size: number): string => `${id}:${size}`

export function parseLeaseToken(token: string): { id: string; size: number } {
  const at = token.indexOf(':')
  return at < 0 ? { id: token, size: 0 } : { id: token.slice(0, at), size: Number(token.slice(at + 1)) }
}
