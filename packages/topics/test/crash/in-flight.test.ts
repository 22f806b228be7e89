import { killedInFlight } from '../../src/conformance/crash/in-flight.ts'
import { BUILT_IN } from '../conformance/stores.ts'

killedInFlight(BUILT_IN)
