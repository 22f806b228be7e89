import { subscriptionStates } from '../../src/conformance/subscription-states.ts'
import { BUILT_IN } from './stores.ts'

subscriptionStates(BUILT_IN)
