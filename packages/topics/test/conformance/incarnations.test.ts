import { incarnations } from '../../src/conformance/incarnations.ts'
import { BUILT_IN } from './stores.ts'

incarnations(BUILT_IN)
