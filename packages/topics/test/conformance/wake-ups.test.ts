import { wakeUps } from '../../src/conformance/wake-ups.ts'
import { BUILT_IN } from './stores.ts'

wakeUps(BUILT_IN)
