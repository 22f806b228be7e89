import { oddErrors } from '../../src/conformance/odd-errors.ts'
import { BUILT_IN } from './stores.ts'

oddErrors(BUILT_IN)
