import { size } from '../../src/conformance/size.ts'
import { BUILT_IN } from './stores.ts'

size(BUILT_IN)
