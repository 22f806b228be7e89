import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
// Inside: the generated code is the witness that the bytes are the contract’s.
import {
  RawTickDataSchema,
  type TickData,
  TickDataSchema,
} from '../../src/contracts/gen/tidemark/pipeline/v1/tick_pb.ts'
import { verifyTick } from '../../src/contracts/tick-codec.ts'
import {
  ContractError,
  DEFAULT_LIMITS,
  decodeCells,
  decodeOrganism,
  decodeRawTick,
  decodeTick,
  encodeTick,
  InvalidRunIdError,
  LimitError,
  type Organism,
  type Tick,
  toEncodedTick,
} from '../../src/index.ts'
import { RUN_ID, tickArbitrary } from '../arbitraries.ts'

function toMessage(tick: Tick): TickData {
  const indexes = [...tick.cells.flatIndex]
  return create(TickDataSchema, {
    simulationRunId: tick.runId,
    tickNumber: BigInt(tick.tick),
    captureTimeMs: BigInt(tick.capturedAt),
    cells: {
      flatIndex: indexes.map((index, slot) => index - (slot === 0 ? 0 : (indexes[slot - 1] as number))),
      moleculeType: [...tick.cells.moleculeType],
      moleculeValue: [...tick.cells.moleculeValue],
      ownerId: [...tick.cells.ownerId],
    },
    organisms: tick.organisms.map(organism => ({
      organismId: BigInt(organism.id),
      ...(organism.parentId !== null && { parentId: BigInt(organism.parentId) }),
      birthTick: BigInt(organism.birthTick),
      lineage: BigInt(organism.lineage),
      energy: organism.energy,
      position: [...organism.position],
      direction: [...organism.direction],
      genome: Uint8Array.from(organism.genome),
      isDead: organism.isDead,
    })),
  })
}

const organism: Organism = {
  id: 1,
  parentId: 0,
  birthTick: 3,
  lineage: 4,
  energy: -0.5,
  position: [3, -1],
  direction: [0, -1],
  genome: Uint8Array.of(1, 2, 3),
  isDead: true,
}

const tick: Tick = {
  runId: RUN_ID,
  tick: 42,
  capturedAt: 1_760_000_000_000,
  cells: {
    flatIndex: Int32Array.of(1, 5),
    moleculeType: Int32Array.of(0, 2),
    moleculeValue: Int32Array.of(-3, 900),
    ownerId: Int32Array.of(-1, 1),
  },
  organisms: [organism, { ...organism, id: 2, parentId: null, energy: 0, isDead: false, genome: new Uint8Array(0) }],
}

describe('a tick', () => {
  it('has the bytes that the generated code writes, and survives a round trip', () => {
    fc.assert(
      fc.property(tickArbitrary, tick => {
        const { bytes } = encodeTick(tick)
        const expected = toBinary(TickDataSchema, toMessage(tick))
        assert.deepEqual(Buffer.from(bytes), Buffer.from(expected))
        assert.deepEqual(decodeTick(expected), tick)
      }),
    )
  })

  it('is read by the generated code', () => {
    fc.assert(
      fc.property(tickArbitrary, tick => {
        assert.deepEqual(fromBinary(TickDataSchema, encodeTick(tick).bytes), toMessage(tick))
      }),
    )
  })

  it('has a raw view, ours and the generated one, whose parts decode to the same', () => {
    fc.assert(
      fc.property(tickArbitrary, tick => {
        const { bytes } = encodeTick(tick)
        const raw = decodeRawTick(bytes)
        const message = fromBinary(RawTickDataSchema, bytes)
        assert.deepEqual(Buffer.from(raw.cells), Buffer.from(message.cells))
        assert.equal(raw.organisms.length, message.organisms.length)
        assert.deepEqual(decodeCells(raw.cells, DEFAULT_LIMITS), tick.cells)
        assert.deepEqual(
          raw.organisms.map(each => decodeOrganism(each)),
          tick.organisms,
        )
      }),
    )
  })

  it('is read from any place in a larger buffer', () => {
    const { bytes } = encodeTick(tick)
    const larger = new Uint8Array(bytes.length + 7)
    larger.set(bytes, 3)
    assert.deepEqual(decodeTick(larger.subarray(3, 3 + bytes.length)), tick)
  })

  it('returns its run and number', () => {
    const { bytes } = encodeTick(tick)
    assert.deepEqual(toEncodedTick(bytes), { runId: RUN_ID, tick: 42, bytes })
  })
})

describe('a malformed tick', () => {
  it('is an error wherever it is cut, or lacks what was cut off', () => {
    const { bytes } = encodeTick(tick)
    for (let length = 0; length < bytes.length; length++) {
      const cut = bytes.subarray(0, length)
      try {
        const { cells, ...rest } = decodeTick(cut)
        // Cut between two fields it is a whole, smaller message: whoever frames it has to notice, and does.
        assert.deepEqual(rest.organisms, tick.organisms.slice(0, rest.organisms.length))
        assert.ok(cells.flatIndex.length === 0 || cells.flatIndex.length === 2)
      } catch (error) {
        assert.ok(error instanceof ContractError || error instanceof InvalidRunIdError, String(error))
      }
    }
  })

  it('is an error, never a crash, whatever single byte is changed', () => {
    const { bytes } = encodeTick(tick)
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [1, 0x80, 0xff]) {
        const changed = Uint8Array.from(bytes)
        changed[at] = (changed[at] as number) ^ flip
        try {
          decodeTick(changed)
        } catch (error) {
          assert.ok(error instanceof ContractError || error instanceof InvalidRunIdError, String(error))
        }
      }
    }
  })

  it('without a valid run is refused', () => {
    const foreign = toBinary(TickDataSchema, create(TickDataSchema, { simulationRunId: '../etc', tickNumber: 1n }))
    assert.throws(() => decodeTick(foreign), InvalidRunIdError)
    assert.throws(() => decodeTick(new Uint8Array(0)), InvalidRunIdError)
    assert.throws(() => encodeTick({ ...tick, runId: 'mine' }), InvalidRunIdError)
  })

  it('with cells twice is refused, since the views would differ', () => {
    const { bytes } = encodeTick(tick)
    const more = toBinary(TickDataSchema, create(TickDataSchema, { cells: {} }))
    const twice = Buffer.concat([bytes, more])
    assert.throws(() => decodeTick(twice), /more than one list of cells/)
    assert.throws(() => decodeRawTick(twice), /more than one list of cells/)
  })

  it('with a negative number is refused on reading and writing', () => {
    const negative = toBinary(TickDataSchema, create(TickDataSchema, { simulationRunId: RUN_ID, tickNumber: -1n }))
    assert.throws(() => decodeTick(negative), /negative or beyond/)
    assert.throws(() => encodeTick({ ...tick, tick: -1 }), /tick is -1/)
    assert.throws(() => encodeTick({ ...tick, tick: 1.5 }), /tick is 1.5/)
    assert.throws(() => encodeTick({ ...tick, organisms: [{ ...organism, parentId: -1 }] }), /parentId is -1/)
    assert.throws(() => encodeTick({ ...tick, organisms: [{ ...organism, position: [2 ** 31] }] }), /not an int32/)
    assert.deepEqual(decodeTick(encodeTick(tick).bytes), tick, 'a failed encoding leaves nothing behind')
  })

  it('in another encoding than protobuf writes says what is wrong', () => {
    const run = toBinary(TickDataSchema, create(TickDataSchema, { simulationRunId: RUN_ID }))
    const withOrganism = (bytes: number[]) => [0x2a, bytes.length, ...bytes]
    for (const [field, problem] of [
      [[0x10, 0x81, 0x00], /not in its shortest form/],
      [[0x12, 0x01, 0x05], /field 2 has wire type 2/],
      [[0x0a, 0x02, 0xc3, 0x28], /not UTF-8/],
      [withOrganism([0x48, 0x02]), /a boolean is neither true nor false/],
    ] as const) {
      const bytes = Buffer.concat([run, Buffer.from(field)])
      assert.throws(() => decodeTick(bytes), problem)
      assert.throws(() => verifyTick(bytes), problem)
    }
  })

  it('that exceeds a limit names the limit', () => {
    const { bytes } = encodeTick(tick)
    const limits = { maxTickBytes: 100, maxOrganisms: 1, maxGenomeBytes: 2, maxDimensions: 1, maxCells: 1 }
    for (const [name, most] of Object.entries(limits)) {
      assert.throws(
        () => decodeTick(bytes, { ...DEFAULT_LIMITS, [name]: most }),
        error => error instanceof LimitError && error.limit === name && error.most === most,
        name,
      )
    }
  })
})
