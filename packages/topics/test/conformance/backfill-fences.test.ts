import { backfillFences } from '../../src/conformance/backfill-fences.ts'
import { BUILT_IN } from './stores.ts'

backfillFences(BUILT_IN)
