import { groupDeath } from '../../src/conformance/group-death.ts'
import { BUILT_IN } from './stores.ts'

groupDeath(BUILT_IN)
