import { referenceDeadGroups } from '../../src/conformance/reference-dead-groups.ts'
import { BUILT_IN } from './stores.ts'

referenceDeadGroups(BUILT_IN)
