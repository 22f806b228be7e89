import { forcedCap } from '../../src/conformance/forced-cap.ts'
import { BUILT_IN } from './stores.ts'

forcedCap(BUILT_IN)
