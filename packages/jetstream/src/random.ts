import { randomBytes } from 'node:crypto'

/** 52 random bits: as many as a number holds exactly. */
export function random52(): number {
  const bytes = randomBytes(7)
  return (bytes.readUIntBE(0, 3) & 0xf_ffff) * 0x1_0000_0000 + bytes.readUInt32BE(3)
}
