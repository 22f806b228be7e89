import { leases } from '../../src/conformance/leases.ts'
import { BUILT_IN } from './stores.ts'

leases(BUILT_IN)
