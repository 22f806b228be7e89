import { lag } from '../../src/conformance/lag.ts'
import { BUILT_IN } from './stores.ts'

lag(BUILT_IN)
