import { publishing } from '../../src/conformance/publishing.ts'
import { BUILT_IN } from './stores.ts'

publishing(BUILT_IN)
