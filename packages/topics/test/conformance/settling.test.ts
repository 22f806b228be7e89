import { settling } from '../../src/conformance/settling.ts'
import { SHARED_STORES, STORES } from './stores.ts'

settling({ stores: STORES, shared: SHARED_STORES })
