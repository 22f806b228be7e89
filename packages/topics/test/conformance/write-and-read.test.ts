import { writeAndRead } from '../../src/conformance/write-and-read.ts'
import { BUILT_IN } from './stores.ts'

writeAndRead(BUILT_IN)
