import { adminTopics } from '../../src/conformance/admin-topics.ts'
import { BUILT_IN } from './stores.ts'

adminTopics(BUILT_IN)
