import { adminGroups } from '../../src/conformance/admin-groups.ts'
import { BUILT_IN } from './stores.ts'

adminGroups(BUILT_IN)
