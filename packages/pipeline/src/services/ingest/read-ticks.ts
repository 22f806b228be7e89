import { DEFAULT_LIMITS } from '../../contracts/limits.ts'
import type { EncodedTick } from '../../contracts/tick-codec.ts'
import { isEnvironmentFault } from '../../faults.ts'
import { IngestError, TickRefusedError } from './errors.ts'
import { readDelimited } from './read-delimited.ts'
import { TickGate, type TickGateOptions } from './tick-gate.ts'

/**
 * Ticks from delimited TickData, one at a time. `input` names it in errors, which say where it is wrong. Only ticks that can be
 * decoded, of one run, with no cell beyond its world where that is known.
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
