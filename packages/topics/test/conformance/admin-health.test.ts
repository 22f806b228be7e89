import { adminHealth } from '../../src/conformance/admin-health.ts'
import { BUILT_IN } from './stores.ts'

adminHealth(BUILT_IN)
