import { beginning } from '../../src/conformance/beginning.ts'
import { BUILT_IN } from './stores.ts'

beginning(BUILT_IN)
