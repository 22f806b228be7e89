import { lateGroups } from '../../src/conformance/late-groups.ts'
import { SHARED_STORES, STORES } from './stores.ts'

lateGroups({ stores: STORES, shared: SHARED_STORES })
