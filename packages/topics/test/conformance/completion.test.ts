import { completion } from '../../src/conformance/completion.ts'
import { BUILT_IN } from './stores.ts'

completion(BUILT_IN)
