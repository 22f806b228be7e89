import { heartbeats } from '../../src/conformance/heartbeats.ts'
import { BUILT_IN } from './stores.ts'

heartbeats(BUILT_IN)
