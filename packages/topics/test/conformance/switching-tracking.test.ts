import { switchingTracking } from '../../src/conformance/switching-tracking.ts'
import { BUILT_IN } from './stores.ts'

switchingTracking(BUILT_IN)
