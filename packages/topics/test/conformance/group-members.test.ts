import { groupMembers } from '../../src/conformance/group-members.ts'
import { BUILT_IN } from './stores.ts'

groupMembers(BUILT_IN)
