import { zombies } from '../../src/conformance/zombies.ts'
import { BUILT_IN } from './stores.ts'

zombies(BUILT_IN)
