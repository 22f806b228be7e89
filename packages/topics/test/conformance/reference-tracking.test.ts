import { referenceTracking } from '../../src/conformance/reference-tracking.ts'
import { BUILT_IN } from './stores.ts'

referenceTracking(BUILT_IN)
