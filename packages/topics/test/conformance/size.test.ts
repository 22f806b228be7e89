import { size } from '../../src/conformance/size.ts'
import { SHARED_STORES, STORES } from './stores.ts'

size({ stores: STORES, shared: SHARED_STORES })
