import { writeAndRead } from '../../src/conformance/write-and-read.ts'
import { SHARED_STORES, STORES } from './stores.ts'

writeAndRead({ stores: STORES, shared: SHARED_STORES })
