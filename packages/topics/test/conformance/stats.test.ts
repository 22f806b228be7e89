import { stats } from '../../src/conformance/stats.ts'
import { BUILT_IN } from './stores.ts'

stats(BUILT_IN)
