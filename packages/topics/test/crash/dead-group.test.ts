import { killedGroup } from '../../src/conformance/crash/dead-group.ts'
import { BUILT_IN } from '../conformance/stores.ts'

killedGroup(BUILT_IN)
