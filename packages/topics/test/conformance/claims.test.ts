import { claims } from '../../src/conformance/claims.ts'
import { SHARED_STORES, STORES } from './stores.ts'

claims({ stores: STORES, shared: SHARED_STORES })
