import { byteBounds } from '../../src/conformance/byte-bounds.ts'
import { SHARED_STORES, STORES } from './stores.ts'

byteBounds({ stores: STORES, shared: SHARED_STORES })
