import { backfill } from '../../src/conformance/backfill.ts'
import { BUILT_IN } from './stores.ts'

backfill(BUILT_IN)
