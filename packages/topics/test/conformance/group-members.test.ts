import { groupMembers } from '../../src/conformance/group-members.ts'
import { SHARED_STORES, STORES } from './stores.ts'

groupMembers({ stores: STORES, shared: SHARED_STORES })
