import { groupLease } from '../../src/conformance/group-lease.ts'
import { BUILT_IN } from './stores.ts'

groupLease(BUILT_IN)
