/** A still picture of Chromium, and how long it is shown. */
export type Frame = { readonly webp: Buffer; readonly milliseconds: number }

/** `VP8X`: the file has an animation. */
const HAS_ANIMATION = 0x02
/** `ANMF`: every frame covers the one before, without blending. */
const WITHOUT_BLENDING = 0x02

/**
 * Puts stills into one animated WebP that repeats for ever. The format is a list of chunks, and a frame is a chunk around the
 * still's own picture data, so nothing has to be encoded again (https://developers.google.com/speed/webp/docs/riff_container).
 */
export function animate(frames: readonly Frame[], { width, height }: { width: number; height: number }): Buffer {
  const size = Buffer.concat([number24(width - 1), number24(height - 1)])
  const body = Buffer.concat([
    chunk('VP8X', Buffer.concat([Buffer.of(HAS_ANIMATION, 0, 0, 0), size])),
    chunk('ANIM', Buffer.of(0, 0, 0, 0, 0, 0)),
    ...frames.map(({ webp, milliseconds }) =>
      chunk(
        'ANMF',
        Buffer.concat([
          number24(0),
          number24(0),
          size,
          number24(milliseconds),
          Buffer.of(WITHOUT_BLENDING),
          pictureOf(webp),
        ]),
      ),
    ),
  ])
  return chunk('RIFF', Buffer.concat([Buffer.from('WEBP'), body]))
}

/** The picture data of a still, as a chunk: all but the file's own header. */
function pictureOf(webp: Buffer): Buffer {
  for (let at = 12; at + 8 <= webp.length; ) {
    const name = webp.toString('latin1', at, at + 4)
    const length = webp.readUInt32LE(at + 4)
    if (name === 'VP8 ' || name === 'VP8L') return chunk(name, webp.subarray(at + 8, at + 8 + length))
    at += 8 + length + (length % 2)
  }
  throw new Error('A still has no picture data')
}

function chunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(data.length, 4)
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)])
}

const number24 = (value: number): Buffer => Buffer.of(value & 255, (value >> 8) & 255, (value >> 16) & 255)
