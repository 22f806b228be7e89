import { deadGroups } from '../../src/conformance/dead-groups.ts'
import { BUILT_IN } from './stores.ts'

deadGroups(BUILT_IN)
