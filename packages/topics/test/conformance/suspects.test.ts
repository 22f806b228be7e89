import { suspects } from '../../src/conformance/suspects.ts'
import { SHARED_STORES, STORES } from './stores.ts'

suspects({ stores: STORES, shared: SHARED_STORES })
