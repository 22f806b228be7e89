import { previews } from '../../src/conformance/previews.ts'
import { BUILT_IN } from './stores.ts'

previews(BUILT_IN)
