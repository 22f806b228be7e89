import { killedProcesses } from '../../src/conformance/crash/kill.ts'
import { BUILT_IN } from '../conformance/stores.ts'

killedProcesses(BUILT_IN)
