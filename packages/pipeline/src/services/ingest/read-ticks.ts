import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { isEnvironmentFault } from '../../faults.ts'
import { IngestError, TickRefusedError } from './errors.ts'
import { readDelimited } from './read-delimited.ts'
import { TickGate, type TickGateOptions } from './tick-gate.ts'

/**
 * Reads delimited TickData, one tick at a time. Every tick can be decoded and belongs to one run and, if it is
 * known, to its world. Errors name the input and the position.
 *
 * @example
 * for await (const { tick: number } of readTicks('ticks.pb', createReadStream('ticks.pb'))) console.log(number)
 */
export async function* readTicks(
  input: string,
  chunks: AsyncIterable<Uint8Array>,
  options: TickGateOptions = {},
): AsyncGenerator<EncodedTick, void, undefined> {
  const gate = new TickGate(options)
  const { maxTickBytes = DEFAULT_LIMITS.maxTickBytes } = options
  for await (const { bytes, index, byte } of readDelimited(input, chunks, { maxMessageBytes: maxTickBytes })) {
    yield await gate.admit(bytes).catch(error => {
      if (isEnvironmentFault(error)) throw error
      const why = error instanceof TickRefusedError ? 'is refused' : 'is not a tick'
      throw new IngestError(input, index, byte, `${why}: ${(error as Error).message}`, error)
    })
  }
}
