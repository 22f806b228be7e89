import { handlers } from '../../src/conformance/handlers.ts'
import { BUILT_IN } from './stores.ts'

handlers(BUILT_IN)
