import { consumerGroups } from '../../src/conformance/consumer-groups.ts'
import { BUILT_IN } from './stores.ts'

consumerGroups(BUILT_IN)
