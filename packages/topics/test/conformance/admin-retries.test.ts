import { adminRetries } from '../../src/conformance/admin-retries.ts'
import { BUILT_IN } from './stores.ts'

adminRetries(BUILT_IN)
