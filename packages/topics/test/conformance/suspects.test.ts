import { suspects } from '../../src/conformance/suspects.ts'
import { BUILT_IN } from './stores.ts'

suspects(BUILT_IN)
