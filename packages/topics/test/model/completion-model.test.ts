import { completionModel } from '../../src/conformance/model/completion-model.ts'
import { BUILT_IN } from '../conformance/stores.ts'

completionModel(BUILT_IN)
