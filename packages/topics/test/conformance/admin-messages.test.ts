import { adminMessages } from '../../src/conformance/admin-messages.ts'
import { BUILT_IN } from './stores.ts'

adminMessages(BUILT_IN)
