import { opening } from '../../src/conformance/opening.ts'
import { BUILT_IN } from './stores.ts'

opening(BUILT_IN)
