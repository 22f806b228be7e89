import { deadGroupLoss } from '../../src/conformance/dead-group-loss.ts'
import { BUILT_IN } from './stores.ts'

deadGroupLoss(BUILT_IN)
