import { clockSkew } from '../../src/conformance/clock-skew.ts'
import { BUILT_IN } from './stores.ts'

clockSkew(BUILT_IN)
