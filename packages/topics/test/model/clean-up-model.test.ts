import { cleanUpModel } from '../../src/conformance/model/clean-up-model.ts'
import { BUILT_IN } from '../conformance/stores.ts'

cleanUpModel(BUILT_IN)
