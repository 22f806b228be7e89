import { lateGroups } from '../../src/conformance/late-groups.ts'
import { BUILT_IN } from './stores.ts'

lateGroups(BUILT_IN)
