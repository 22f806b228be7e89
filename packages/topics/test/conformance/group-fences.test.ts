import { groupFences } from '../../src/conformance/group-fences.ts'
import { BUILT_IN } from './stores.ts'

groupFences(BUILT_IN)
