import { lifeCycleLog } from '../../src/conformance/life-cycle-log.ts'
import { BUILT_IN } from './stores.ts'

lifeCycleLog(BUILT_IN)
