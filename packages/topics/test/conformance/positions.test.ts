import { positions } from '../../src/conformance/positions.ts'
import { BUILT_IN } from './stores.ts'

positions(BUILT_IN)
