/** Which slots of a lease are settled: bit s of byte s/8. */
export type Bitmap = Uint8Array

export const emptyBitmap = (size: number): Bitmap => new Uint8Array((size + 7) >> 3)

export const hasBit = (bitmap: Bitmap | null, slot: number): boolean =>
  bitmap !== null && (((bitmap[slot >> 3] ?? 0) >> (slot & 7)) & 1) === 1

export function setBit(bitmap: Bitmap, slot: number): void {
  bitmap[slot >> 3] = (bitmap[slot >> 3] ?? 0) | (1 << (slot & 7))
}

export function countBits(bitmap: Bitmap | null): number {
  let count = 0
  for (let byte of bitmap ?? []) for (; byte !== 0; byte &= byte - 1) count++
  return count
}
