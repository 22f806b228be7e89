import type { SimulationMetadata } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'

/** A run as another program would give it: messages behind their lengths, and metadata of a small world. */
export function delimited(messages: readonly Uint8Array[]): Buffer {
  return Buffer.concat(messages.flatMap(bytes => [varint(bytes.length), bytes]))
}

export function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Uint8Array.from([...bytes, rest])
}

export const METADATA: SimulationMetadata = {
  runId: RUN_ID,
  startedAt: 0,
  seed: '7',
  samplingInterval: 1,
  environment: { shape: [4, 5], topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['none'],
}
