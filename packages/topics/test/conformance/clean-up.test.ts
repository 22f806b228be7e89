import { cleanUp } from '../../src/conformance/clean-up.ts'
import { BUILT_IN } from './stores.ts'

cleanUp(BUILT_IN)
