import { operating } from '../../src/conformance/operating.ts'
import { BUILT_IN } from './stores.ts'

operating(BUILT_IN)
