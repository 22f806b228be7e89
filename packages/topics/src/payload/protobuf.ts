import type { DescMessage, Message } from '@bufbuild/protobuf'
import { PackageRequiredError } from '../errors.ts'

/** Protobuf schemas by the full names of their types. A registry of @bufbuild/protobuf fits. */
export type ProtobufRegistry = {
  /**
   * Schema of a type; undefined if it is not registered.
   *
   * @example
   * const schema = registry.getMessage('google.protobuf.Timestamp')
   */
  getMessage(typeName: string): object | undefined
}

/** Converts between messages of the types in a registry and their bytes. */
export type Protobuf = {
  schemaOf(typeName: string): DescMessage | undefined
  toBinary(schema: DescMessage, message: Message): Uint8Array
  fromBinary(schema: DescMessage, bytes: Uint8Array): Message
}

/** Must match `peerDependencies` in the package manifest. */
const VERSIONS = '^2.0.0'

/** The library is an optional peer: only programs that publish or read protobuf messages load it. */
export async function loadProtobuf(registry: ProtobufRegistry): Promise<Protobuf> {
  const { toBinary, fromBinary } = await importProtobuf()
  return { toBinary, fromBinary, schemaOf: typeName => registry.getMessage(typeName) as DescMessage | undefined }
}

/** Bundlers leave an unresolvable import to run time if it is inside a try block. */
async function importProtobuf(): Promise<typeof import('@bufbuild/protobuf')> {
  try {
    return await import('@bufbuild/protobuf')
  } catch (cause) {
    throw PackageRequiredError.missing("Option 'open.registry'", '@bufbuild/protobuf', VERSIONS, cause)
  }
}
