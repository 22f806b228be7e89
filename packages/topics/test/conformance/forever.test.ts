import { forever } from '../../src/conformance/forever.ts'
import { BUILT_IN } from './stores.ts'

forever(BUILT_IN)
