import { groupLifeCycle } from '../../src/conformance/group-life-cycle.ts'
import { BUILT_IN } from './stores.ts'

groupLifeCycle(BUILT_IN)
