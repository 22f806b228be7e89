import { outages } from '../../src/conformance/outages.ts'
import { BUILT_IN } from './stores.ts'

outages(BUILT_IN)
