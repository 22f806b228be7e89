import { positions } from '../../src/conformance/positions.ts'
import { SHARED_STORES, STORES } from './stores.ts'

positions({ stores: STORES, shared: SHARED_STORES })
