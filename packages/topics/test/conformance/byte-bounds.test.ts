import { byteBounds } from '../../src/conformance/byte-bounds.ts'
import { BUILT_IN } from './stores.ts'

byteBounds(BUILT_IN)
