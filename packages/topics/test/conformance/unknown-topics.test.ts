import { unknownTopics } from '../../src/conformance/unknown-topics.ts'
import { BUILT_IN } from './stores.ts'

unknownTopics(BUILT_IN)
