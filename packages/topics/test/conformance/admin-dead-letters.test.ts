import { adminDeadLetters } from '../../src/conformance/admin-dead-letters.ts'
import { BUILT_IN } from './stores.ts'

adminDeadLetters(BUILT_IN)
