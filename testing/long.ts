export { isLong } from '../packages/topics/src/conformance/long.ts'
