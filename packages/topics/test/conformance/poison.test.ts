import { poison } from '../../src/conformance/poison.ts'
import { BUILT_IN } from './stores.ts'

poison(BUILT_IN)
