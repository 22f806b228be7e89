import { stopping } from '../../src/conformance/stopping.ts'
import { BUILT_IN } from './stores.ts'

stopping(BUILT_IN)
