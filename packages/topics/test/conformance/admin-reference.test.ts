import { adminReference } from '../../src/conformance/admin-reference.ts'
import { BUILT_IN } from './stores.ts'

adminReference(BUILT_IN)
