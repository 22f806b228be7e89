import { payloads } from '../../src/conformance/payloads.ts'
import { SHARED_STORES, STORES } from './stores.ts'

payloads({ stores: STORES, shared: SHARED_STORES })
