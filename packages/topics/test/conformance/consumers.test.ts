import { consumers } from '../../src/conformance/consumers.ts'
import { BUILT_IN } from './stores.ts'

consumers(BUILT_IN)
