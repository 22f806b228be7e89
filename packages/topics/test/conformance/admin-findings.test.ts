import { adminFindings } from '../../src/conformance/admin-findings.ts'
import { BUILT_IN } from './stores.ts'

adminFindings(BUILT_IN)
