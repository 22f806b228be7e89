import { isLong } from '../packages/topics/src/conformance/long.ts'

export { isLong }

/**
 * For journeys of many processes that every engine passes in the same way: the named one in `npm test`, all of them in
 * `npm run test:long`. What the engines do for them has tests on each.
 */
export const journeyOn = (...usual: string[]): ((engine: string) => boolean) => {
  return engine => isLong || usual.includes(engine)
}
