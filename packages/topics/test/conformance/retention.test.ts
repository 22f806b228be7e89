import { retention } from '../../src/conformance/retention.ts'
import { BUILT_IN } from './stores.ts'

retention(BUILT_IN)
