import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
// Inside: the generated code is the witness that the bytes are the contract’s.
import { SimulationMetadataSchema } from '../../src/contracts/gen/tidemark/pipeline/v1/metadata_pb.ts'
import { TopicEnvelopeSchema } from '../../src/contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import {
  batchEnvelope,
  batchInfoOf,
  ContractError,
  contractsRegistry,
  deadLetterMessage,
  decodeMetadata,
  encodeMetadata,
  InvalidRunIdError,
  metadataEnvelope,
  metadataInfoOf,
  type SimulationMetadata,
} from '../../src/index.ts'
import { plainRecord, RUN_ID } from '../arbitraries.ts'

const metadata: SimulationMetadata = {
  runId: RUN_ID,
  startedAt: 1_760_000_000_000,
  seed: '42',
  samplingInterval: 10,
  environment: { shape: [100, 100], topology: 'torus' },
  settings: '{"organisms":20}',
  moleculeTypes: ['empty', 'energy'],
}

describe('metadata', () => {
  it('survive a round trip', () => {
    const arbitrary: fc.Arbitrary<SimulationMetadata> = plainRecord({
      runId: fc.constant(RUN_ID),
      startedAt: fc.maxSafeNat(),
      seed: fc.string({ unit: 'grapheme' }),
      samplingInterval: fc.integer({ min: 1 }),
      environment: plainRecord({
        shape: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }),
        topology: fc.constantFrom('torus', 'bounded'),
      }),
      settings: fc.json(),
      moleculeTypes: fc.array(fc.string()),
    })
    fc.assert(fc.property(arbitrary, metadata => assert.deepEqual(decodeMetadata(encodeMetadata(metadata)), metadata)))
  })

  it('that are invalid are neither written nor read', () => {
    const wrong: Record<string, Partial<SimulationMetadata>> = {
      'no run': { runId: 'x' },
      'no interval': { samplingInterval: 0 },
      'no dimension': { environment: { shape: [], topology: 'torus' } },
      'an empty dimension': { environment: { shape: [10, 0], topology: 'torus' } },
      'more cells than an index can tell': { environment: { shape: [65_536, 65_536], topology: 'torus' } },
      'settings that are not JSON': { settings: '{' },
      'a time before time': { startedAt: -1 },
    }
    for (const [name, part] of Object.entries(wrong)) {
      const isExpected = (error: unknown): boolean =>
        error instanceof ContractError || error instanceof InvalidRunIdError
      assert.throws(() => encodeMetadata({ ...metadata, ...part }), isExpected, name)
    }
    assert.throws(() => decodeMetadata(Uint8Array.of(0xff)), ContractError)
    const unspecified = create(SimulationMetadataSchema, { simulationRunId: RUN_ID, samplingInterval: 1n })
    assert.throws(() => decodeMetadata(toBinary(SimulationMetadataSchema, unspecified)), /topology/)
  })
})

describe('a notification', () => {
  const batch = { runId: RUN_ID, storageKey: 'k', tickStart: 0, tickEnd: 990, tickCount: 100, writtenAt: 5 }

  it('of a batch travels in an envelope', () => {
    const bytes = toBinary(TopicEnvelopeSchema, batchEnvelope(batch))
    const envelope = fromBinary(TopicEnvelopeSchema, bytes)
    assert.deepEqual(batchInfoOf(envelope), batch)
    assert.match(envelope.messageId, /^[0-9a-f-]{36}$/)
    assert.ok(contractsRegistry.getMessage(envelope.payload?.typeUrl.split('/')[1] ?? ''), 'its type is registered')
  })

  it('of metadata travels in an envelope', () => {
    const info = { runId: RUN_ID, storageKey: 'k', writtenAt: 5 }
    assert.deepEqual(metadataInfoOf(metadataEnvelope(info, { messageId: 'm', timestamp: 7 })), info)
  })

  it('of the other kind is refused by name', () => {
    assert.throws(() => metadataInfoOf(batchEnvelope(batch)), /tidemark.pipeline.v1.BatchInfo instead of a Metadata/)
    assert.throws(() => batchInfoOf(create(TopicEnvelopeSchema)), /nothing instead of a BatchInfo/)
    assert.throws(() => batchEnvelope({ ...batch, runId: '../x' }), InvalidRunIdError)
  })

  it('that was dead-lettered keeps the message and the reason', () => {
    const letter = deadLetterMessage({
      originalMessage: Uint8Array.of(1),
      messageType: 'tidemark.pipeline.v1.BatchInfo',
      failureReason: 'Error: no',
      retryCount: 3,
      sourceService: 'environment',
      firstFailureAt: 1,
      lastFailureAt: 2,
      stackTraceLines: ['at x'],
    })
    assert.equal(letter.lastFailureTimeMs, 2n)
    assert.deepEqual(letter.originalMessage, Uint8Array.of(1))
  })
})
