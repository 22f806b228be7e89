/** `npm run test:long`: full sizes and many repetitions, instead of what fits into a few minutes. */
export const isLong = process.env.TIDEMARK_TEST_LONG === '1'
