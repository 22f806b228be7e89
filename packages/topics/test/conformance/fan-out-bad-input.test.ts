import { fanOutBadInput } from '../../src/conformance/fan-out-bad-input.ts'
import { BUILT_IN } from './stores.ts'

fanOutBadInput(BUILT_IN)
