import { incarnationVerbs } from '../../src/conformance/incarnation-verbs.ts'
import { BUILT_IN } from './stores.ts'

incarnationVerbs(BUILT_IN)
