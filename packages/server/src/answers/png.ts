import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

export type Colour = readonly [red: number, green: number, blue: number]

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const BITS = 8
const INDEXED = 3
/** One byte before each row names its filter: none. */
const FILTER_BYTES = 1

/** A picture with a palette of up to 255 colours; pixel 0 is transparent. */
export async function encodePng(
  pixels: Uint8Array,
  width: number,
  height: number,
  palette: readonly Colour[],
): Promise<Buffer> {
  const rows = Buffer.alloc((width + FILTER_BYTES) * height)
  for (let row = 0; row < height; row++) {
    rows.set(pixels.subarray(row * width, (row + 1) * width), row * (width + FILTER_BYTES) + FILTER_BYTES)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([BITS, INDEXED, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from([[0, 0, 0], ...palette].flat())),
    chunk('tRNS', Buffer.from([0])),
    chunk('IDAT', await promisify(deflate)(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}
