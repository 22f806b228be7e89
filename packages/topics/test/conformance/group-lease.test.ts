import { groupLease } from '../../src/conformance/group-lease.ts'
import { SHARED_STORES, STORES } from './stores.ts'

groupLease({ stores: STORES, shared: SHARED_STORES })
