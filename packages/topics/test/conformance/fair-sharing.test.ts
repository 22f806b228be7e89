import { fairSharing } from '../../src/conformance/fair-sharing.ts'
import { BUILT_IN } from './stores.ts'

fairSharing(BUILT_IN)
