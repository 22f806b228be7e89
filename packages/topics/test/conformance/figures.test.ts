import { figures } from '../../src/conformance/figures.ts'
import { BUILT_IN } from './stores.ts'

figures(BUILT_IN)
