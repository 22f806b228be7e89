/** `npm run test:fast`: the conformance suites on SQLite only. PostgreSQL has its own tests in it, and all of them in `npm test`. */
export const isFast = process.env.TIDEMARK_TEST_FAST === '1'
