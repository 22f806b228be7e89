import { killedBackfill } from '../../src/conformance/crash/backfill.ts'
import { BUILT_IN } from '../conformance/stores.ts'

killedBackfill(BUILT_IN)
