import { leaseFences } from '../../src/conformance/lease-fences.ts'
import { BUILT_IN } from './stores.ts'

leaseFences(BUILT_IN)
