import { backfillSteps } from '../../src/conformance/backfill-steps.ts'
import { BUILT_IN } from './stores.ts'

backfillSteps(BUILT_IN)
