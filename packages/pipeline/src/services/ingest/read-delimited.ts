import { ByteSource, EndOfContent } from '../../storage/container/byte-source.ts'
import { IngestError } from './errors.ts'

export type DelimitedMessage = {
  readonly index: number
  /** Byte at which its length begins. */
  readonly byte: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Messages preceded by their length (a varint), one at a time: never more than one in memory. */
export async function* readDelimited(
  input: string,
  chunks: AsyncIterable<Uint8Array>,
  { maxMessageBytes }: { readonly maxMessageBytes: number },
): AsyncGenerator<DelimitedMessage, void, undefined> {
  const source = new ByteSource(chunks, Number.POSITIVE_INFINITY)
  let byte = 0
  try {
    for (let index = 0; !(await source.isAtEnd()); index++) {
      const bytes = await readOne(source, problem => new IngestError(input, index, byte, problem), maxMessageBytes)
      yield { index, byte, bytes }
      byte += lengthOfVarint(bytes.length) + bytes.length
    }
  } finally {
    await source.close()
  }
}

async function readOne(
  source: ByteSource,
  wrong: (problem: string) => IngestError,
  maxMessageBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const length = await source.length()
    if (length === undefined) throw wrong('has no valid length; the input must consist of delimited messages')
    // Checked before memory is allocated for it.
    if (length > maxMessageBytes) throw wrong(`has a length of ${length} bytes; the maximum is ${maxMessageBytes}`)
    return await source.take(length)
  } catch (error) {
    if (error instanceof EndOfContent) throw wrong('is truncated: the input ends inside it')
    throw error
  }
}

function lengthOfVarint(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}
