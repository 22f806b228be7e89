import { zeroSubscriptions } from '../../src/conformance/zero-subscriptions.ts'
import { BUILT_IN } from './stores.ts'

zeroSubscriptions(BUILT_IN)
