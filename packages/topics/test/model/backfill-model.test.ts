import { backfillModel } from '../../src/conformance/model/backfill-model.ts'
import { BUILT_IN } from '../conformance/stores.ts'

backfillModel(BUILT_IN)
