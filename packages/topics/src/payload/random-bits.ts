import { randomFillSync } from 'node:crypto'

const BYTES = 7
/** Drawn many at a time: one call for each would cost a publish a microsecond. */
const pool = Buffer.alloc(BYTES * 512)
let next = pool.length

/** 52 random bits: as many as a number, a bigint column and node:sqlite hold exactly. */
export function random52(): number {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  const high = pool.readUIntBE(next, 3) & 0xf_ffff
  const low = pool.readUInt32BE(next + 3)
  next += BYTES
  return high * 0x1_0000_0000 + low
}
