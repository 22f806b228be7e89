import { pulling } from '../../src/conformance/pulling.ts'
import { BUILT_IN } from './stores.ts'

pulling(BUILT_IN)
