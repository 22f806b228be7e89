import { namespaces } from '../../src/conformance/namespaces.ts'
import { BUILT_IN } from './stores.ts'

namespaces(BUILT_IN)
