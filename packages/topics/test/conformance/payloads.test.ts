import { payloads } from '../../src/conformance/payloads.ts'
import { BUILT_IN } from './stores.ts'

payloads(BUILT_IN)
