import { killedCleanUp } from '../../src/conformance/crash/clean-up-kill.ts'
import { BUILT_IN } from '../conformance/stores.ts'

killedCleanUp(BUILT_IN)
