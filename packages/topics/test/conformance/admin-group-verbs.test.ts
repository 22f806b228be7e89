import { adminGroupVerbs } from '../../src/conformance/admin-group-verbs.ts'
import { BUILT_IN } from './stores.ts'

adminGroupVerbs(BUILT_IN)
