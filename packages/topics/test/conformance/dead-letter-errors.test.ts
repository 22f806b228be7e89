import { deadLetterErrors } from '../../src/conformance/dead-letter-errors.ts'
import { BUILT_IN } from './stores.ts'

deadLetterErrors(BUILT_IN)
