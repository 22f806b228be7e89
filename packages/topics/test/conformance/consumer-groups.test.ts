import { consumerGroups } from '../../src/conformance/consumer-groups.ts'
import { SHARED_STORES, STORES } from './stores.ts'

consumerGroups({ stores: STORES, shared: SHARED_STORES })
