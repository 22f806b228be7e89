import { subscriptionLife } from '../../src/conformance/subscription-life.ts'
import { BUILT_IN } from './stores.ts'

subscriptionLife(BUILT_IN)
