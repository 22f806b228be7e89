import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
// Inside: readers use these parts of the codec, and no public call shows what they leave undecoded.
import { decodeCellRange, decodeMoleculeTypes } from '../../src/contracts/cell-codec.ts'
// Inside: the generated code is the witness that the bytes are the contract’s.
import { type CellStateList, CellStateListSchema } from '../../src/contracts/gen/tidemark/pipeline/v1/tick_pb.ts'
import {
  type Cells,
  ContractError,
  countCells,
  DEFAULT_LIMITS,
  decodeCells,
  encodeCells,
  LimitError,
} from '../../src/index.ts'
import { cellsArbitrary } from '../arbitraries.ts'

const decode = (bytes: Uint8Array): Cells => decodeCells(bytes, DEFAULT_LIMITS)

/** The slow and obvious way, through the generated code. */
function toMessage(cells: Cells): CellStateList {
  const indexes = [...cells.flatIndex]
  return create(CellStateListSchema, {
    flatIndex: indexes.map((index, slot) => index - (slot === 0 ? 0 : (indexes[slot - 1] as number))),
    moleculeType: [...cells.moleculeType],
    moleculeValue: [...cells.moleculeValue],
    ownerId: [...cells.ownerId],
  })
}

function fromMessage(message: CellStateList): Cells {
  let index = 0
  return {
    flatIndex: Int32Array.from(message.flatIndex, distance => (index += distance)),
    moleculeType: Int32Array.from(message.moleculeType),
    moleculeValue: Int32Array.from(message.moleculeValue),
    ownerId: Int32Array.from(message.ownerId),
  }
}

function cellsOf(count: number): Cells {
  return {
    flatIndex: Int32Array.from({ length: count }, (_, slot) => slot * 2),
    moleculeType: new Int32Array(count).fill(3),
    moleculeValue: new Int32Array(count).fill(-1),
    ownerId: new Int32Array(count).fill(7),
  }
}

/** The way of `decodeCellRange`, but all of it decoded first. */
function between(cells: Cells, first: number, last: number): Cells {
  const isIn = (_: number, slot: number): boolean => {
    const index = cells.flatIndex[slot] as number
    return index >= first && index <= last
  }
  return {
    flatIndex: cells.flatIndex.filter(isIn),
    moleculeType: cells.moleculeType.filter(isIn),
    moleculeValue: cells.moleculeValue.filter(isIn),
    ownerId: cells.ownerId.filter(isIn),
  }
}

describe('cells', () => {
  it('from one index to another equal those of a full decode', () => {
    const indexes = fc.oneof(fc.nat(300), fc.nat(2 ** 31 - 1))
    fc.assert(
      fc.property(cellsArbitrary, indexes, indexes, (cells, a, b) => {
        const [first, last] = [Math.min(a, b), Math.max(a, b)]
        assert.deepEqual(decodeCellRange(encodeCells(cells), first, last, DEFAULT_LIMITS), between(cells, first, last))
      }),
      { numRuns: 500 },
    )
  })

  it('have types that are read and counted without the rest', () => {
    fc.assert(
      fc.property(cellsArbitrary, cells => {
        const bytes = encodeCells(cells)
        assert.deepEqual(decodeMoleculeTypes(bytes, DEFAULT_LIMITS), cells.moleculeType)
        assert.equal(countCells(bytes), cells.flatIndex.length)
      }),
    )
  })

  it('are the bytes that the generated code writes', () => {
    fc.assert(
      fc.property(cellsArbitrary, cells => {
        const expected = toBinary(CellStateListSchema, toMessage(cells))
        assert.deepEqual(Buffer.from(encodeCells(cells)), Buffer.from(expected))
      }),
    )
  })

  it('are read from what the generated code wrote', () => {
    fc.assert(
      fc.property(cellsArbitrary, cells => {
        assert.deepEqual(decode(toBinary(CellStateListSchema, toMessage(cells))), cells)
      }),
    )
  })

  it('are read by the generated code', () => {
    fc.assert(
      fc.property(cellsArbitrary, cells => {
        assert.deepEqual(fromMessage(fromBinary(CellStateListSchema, encodeCells(cells))), cells)
      }),
    )
  })

  it('may be none', () => {
    assert.equal(encodeCells(cellsOf(0)).length, 0)
    assert.deepEqual(decode(new Uint8Array(0)), cellsOf(0))
  })

  it('may be many: lengths of one to four bytes, and a buffer that has to grow', () => {
    for (const count of [1, 127, 128, 16_383, 16_384, 300_000]) {
      const cells = cellsOf(count)
      const bytes = encodeCells(cells)
      assert.deepEqual(decode(bytes), cells)
      assert.equal(countCells(bytes), count)
      assert.equal(bytes.byteLength, bytes.buffer.byteLength, 'the buffer is its own, so it can be transferred')
    }
  })

  it('may be unpacked, in pieces and with fields of a later version', () => {
    const writer = new BinaryWriter()
    writer.tag(1, WireType.Varint).uint32(5)
    writer.tag(1, WireType.LengthDelimited).bytes(Uint8Array.of(2, 1))
    writer.tag(9, WireType.LengthDelimited).bytes(Uint8Array.of(1, 2, 3))
    writer.tag(10, WireType.Bit64).fixed64(5n)
    writer.tag(11, WireType.Bit32).fixed32(5)
    for (const field of [2, 3, 4]) writer.tag(field, WireType.LengthDelimited).bytes(Uint8Array.of(4, 4, 4))
    const cells = decode(writer.finish())
    assert.deepEqual([...cells.flatIndex], [5, 7, 8])
    assert.deepEqual([...cells.moleculeValue], [2, 2, 2])
  })
})

describe('malformed cells', () => {
  it('are never other cells: every change is an error, or reads as in the generated code', () => {
    fc.assert(
      fc.property(cellsArbitrary, fc.nat(), fc.nat({ max: 255 }), (cells, position, byte) => {
        const bytes = encodeCells(cells)
        if (bytes.length === 0) return
        bytes[position % bytes.length] = byte
        agreesWithGeneratedCode(bytes)
      }),
      { numRuns: 1_000 },
    )
  })

  it('are errors wherever they are cut', () => {
    const bytes = encodeCells(cellsOf(3))
    for (let length = 1; length < bytes.length; length++) {
      assert.throws(() => decode(bytes.subarray(0, length)), ContractError, `cut to ${length} bytes`)
    }
  })

  it('are errors, never a crash or a hang, for arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), bytes => agreesWithGeneratedCode(bytes)),
      { numRuns: 2_000 },
    )
  })

  const wrong: Record<string, [columns: number[][], message: RegExp]> = {
    'a longer column': [[[1], [1, 1], [1], [1]], /molecule_type has more cells/],
    'a shorter column': [[[1, 1], [1, 1], [1], [1, 1]], /molecule_value has 1 cells and flat_index has 2/],
    'a missing column': [[[1], [1], [1], []], /owner_id has 0 cells/],
    'an index that stays': [
      [
        [1, 0],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
      /flat_index of cell 1 is 1; it must be greater/,
    ],
    'a first index beyond 2^31 - 1': [[[0x80, 0x80, 0x80, 0x80, 8], [1], [1], [1]], /flat_index of cell 0/],
    'indexes that add up beyond 2^31 - 1': [
      [
        [0xff, 0xff, 0xff, 0xff, 7, 1],
        [1, 1],
        [1, 1],
        [1, 1],
      ],
      /flat_index of cell 1/,
    ],
    'a type beyond 2^31 - 1': [[[1], [0x80, 0x80, 0x80, 0x80, 8], [1], [1]], /molecule_type of cell 0/],
    'a number of 33 bits': [
      [[1], [1], [0x80, 0x80, 0x80, 0x80, 0x10], [1]],
      /molecule_value of cell 0 is not a 32-bit/,
    ],
    'a number of six bytes': [[[1], [1], [0x80, 0x80, 0x80, 0x80, 0x80, 1], [1]], /molecule_value of cell 0/],
    'a number longer than it need be': [
      [[1], [1], [1], [0x81, 0]],
      /owner_id of cell 0 is not a 32-bit number in its sh/,
    ],
    'a number longer than it need be, amid others': [
      [
        [1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
        [1, 0x81, 0, 1, 1, 1, 1],
        [1, 1, 1, 1, 1, 1],
      ],
      /molecule_value of cell 1 is not a 32-bit number in its shortest form/,
    ],
    'a column that ends in a number': [[[1], [1], [1], [0x81]], /owner_id ends within cell 0/],
  }
  for (const [name, [columns, message]] of Object.entries(wrong)) {
    it(`such as ${name} say what is wrong`, () => {
      const writer = new BinaryWriter()
      columns.forEach((column, slot) => {
        writer.tag(slot + 1, WireType.LengthDelimited).bytes(Uint8Array.from(column))
      })
      const bytes = writer.finish()
      assert.throws(
        () => decode(bytes),
        error => error instanceof ContractError && message.test(error.message),
      )
    })
  }

  it('such as a group are refused', () => {
    assert.throws(() => decode(Uint8Array.of(0x53, 0x54)), /field 10 has wire type 3/)
  })

  it('are refused on writing, too', () => {
    const good = cellsOf(2)
    const bad: Record<string, Partial<Cells>> = {
      descending: { flatIndex: Int32Array.of(2, 1) },
      repeated: { flatIndex: Int32Array.of(1, 1) },
      negative: { flatIndex: Int32Array.of(-1, 1) },
      'of a negative type': { moleculeType: Int32Array.of(0, -1) },
      'of different lengths': { ownerId: Int32Array.of(1) },
    }
    for (const [name, part] of Object.entries(bad)) {
      assert.throws(() => encodeCells({ ...good, ...part }), ContractError, name)
    }
    assert.deepEqual(decode(encodeCells(good)), good, 'a failed encoding leaves nothing behind')
  })

  it('are refused before memory is allocated if they are too many', () => {
    const bytes = encodeCells(cellsOf(11))
    assert.throws(() => decodeCells(bytes, { ...DEFAULT_LIMITS, maxCells: 10 }), LimitError)
    assert.equal(decodeCells(bytes, { ...DEFAULT_LIMITS, maxCells: 11 }).ownerId.length, 11)
    const columnOfFourGigabytes = Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f)
    assert.throws(() => decode(columnOfFourGigabytes), /it is truncated/)
  })
})

function agreesWithGeneratedCode(bytes: Uint8Array): void {
  let ours: Cells
  try {
    ours = decode(bytes)
  } catch (error) {
    assert.ok(error instanceof ContractError, String(error))
    return
  }
  assert.deepEqual(ours, fromMessage(fromBinary(CellStateListSchema, bytes)))
}
