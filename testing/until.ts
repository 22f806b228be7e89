export { until } from '../packages/topics/src/conformance/until.ts'
