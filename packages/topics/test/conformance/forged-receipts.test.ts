import { forgedReceipts } from '../../src/conformance/forged-receipts.ts'
import { BUILT_IN } from './stores.ts'

forgedReceipts(BUILT_IN)
