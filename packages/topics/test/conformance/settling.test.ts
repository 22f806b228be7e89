import { settling } from '../../src/conformance/settling.ts'
import { BUILT_IN } from './stores.ts'

settling(BUILT_IN)
