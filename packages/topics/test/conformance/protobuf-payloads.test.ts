import { protobufPayloads } from '../../src/conformance/protobuf-payloads.ts'
import { BUILT_IN } from './stores.ts'

protobufPayloads(BUILT_IN)
