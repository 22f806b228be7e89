import { commandModel } from '../../src/conformance/model/command-model.ts'
import { BUILT_IN } from '../conformance/stores.ts'

commandModel(BUILT_IN)
