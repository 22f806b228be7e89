import { claims } from '../../src/conformance/claims.ts'
import { BUILT_IN } from './stores.ts'

claims(BUILT_IN)
