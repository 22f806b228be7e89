import { metrics } from '../../src/conformance/metrics.ts'
import { BUILT_IN } from './stores.ts'

metrics(BUILT_IN)
