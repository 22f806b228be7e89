import { messageIdentity } from '../../src/conformance/message-identity.ts'
import { BUILT_IN } from './stores.ts'

messageIdentity(BUILT_IN)
