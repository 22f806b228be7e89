import { maintenance } from '../../src/conformance/maintenance.ts'
import { BUILT_IN } from './stores.ts'

maintenance(BUILT_IN)
