import { poisonedProcesses } from '../../src/conformance/crash/poison.ts'
import { BUILT_IN } from '../conformance/stores.ts'

poisonedProcesses(BUILT_IN)
