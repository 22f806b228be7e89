export { SeededRandom } from '../packages/topics/src/conformance/seeded-random.ts'
