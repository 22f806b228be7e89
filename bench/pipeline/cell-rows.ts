import { create, createFileRegistry, type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'
import type { Cells } from '@tidemark/pipeline'

/**
 * What the columns are compared with: the same cells as one sub-message each, by protobuf-es.
 *
 *   message CellState { int32 flat_index = 1; int32 molecule_type = 2; int32 molecule_value = 3; int32 owner_id = 4; }
 *   message CellRows { repeated CellState cells = 1; }
 */
const FIELDS = ['flat_index', 'molecule_type', 'molecule_value', 'owner_id']

const file = create(FileDescriptorProtoSchema, {
  name: 'cell-rows.proto',
  package: 'bench',
  syntax: 'proto3',
  messageType: [
    {
      name: 'CellState',
      field: FIELDS.map((name, slot) => ({ name, number: slot + 1, label: Label.OPTIONAL, type: Type.INT32 })),
    },
    {
      name: 'CellRows',
      field: [{ name: 'cells', number: 1, label: Label.REPEATED, type: Type.MESSAGE, typeName: '.bench.CellState' }],
    },
  ],
})
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }))

type CellRows = Message & { readonly cells: readonly unknown[] }

export function toRows(cells: Cells): CellRows {
  const rows = Array.from(cells.flatIndex, (flatIndex, slot) => ({
    flatIndex,
    moleculeType: cells.moleculeType[slot],
    moleculeValue: cells.moleculeValue[slot],
    ownerId: cells.ownerId[slot],
  }))
  const rowSchema = schema('bench.CellState')
  return create(schema('bench.CellRows'), { cells: rows.map(row => create(rowSchema, row)) }) as CellRows
}

export const encodeRows = (rows: CellRows): Uint8Array => toBinary(schema('bench.CellRows'), rows)

export const decodeRows = (bytes: Uint8Array): CellRows => fromBinary(schema('bench.CellRows'), bytes) as CellRows

function schema(name: string): DescMessage {
  const found = registry.getMessage(name)
  if (found === undefined) throw new Error(`There is no message ${name}`)
  return found
}
