import { badInput } from '../../src/conformance/bad-input.ts'
import { BUILT_IN } from './stores.ts'

badInput(BUILT_IN)
