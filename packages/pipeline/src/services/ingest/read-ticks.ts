import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import { type EncodedTick, toEncodedTick } from '../../contracts/tick-codec.ts'
import { IngestError } from './errors.ts'
import { readDelimited } from './read-delimited.ts'

/** Ticks from delimited TickData, one at a time. `input` names it in errors, which say where it is wrong. */
export async function* readTicks(
  input: string,
  chunks: AsyncIterable<Uint8Array>,
  { maxTickBytes = DEFAULT_LIMITS.maxTickBytes }: { readonly maxTickBytes?: number } = {},
): AsyncGenerator<EncodedTick, void, undefined> {
  for await (const { bytes, index, byte } of readDelimited(input, chunks, { maxMessageBytes: maxTickBytes })) {
    yield toTick(bytes, maxTickBytes, error => {
      return new IngestError(input, index, byte, `is no tick: ${error.message}`, error)
    })
  }
}

function toTick(
  bytes: Uint8Array<ArrayBuffer>,
  maxTickBytes: number,
  wrong: (error: Error) => IngestError,
): EncodedTick {
  try {
    return toEncodedTick(bytes, { ...DEFAULT_LIMITS, maxTickBytes })
  } catch (error) {
    throw wrong(error as Error)
  }
}
