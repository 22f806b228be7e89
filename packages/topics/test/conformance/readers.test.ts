import { readers } from '../../src/conformance/readers.ts'
import { BUILT_IN } from './stores.ts'

readers(BUILT_IN)
