const { TIDEMARK_TEST_RUNS, TIDEMARK_TEST_SECONDS, TIDEMARK_TEST_SEED, TIDEMARK_TEST_UNSHRUNK } = process.env

type RunOptions = { readonly runs: number; readonly longestSeconds: number }

/** How often fast-check runs a property: from the environment, or the default. */
export const runsOf = ({ runs, longestSeconds }: RunOptions) => ({
  numRuns: Number(TIDEMARK_TEST_RUNS || (TIDEMARK_TEST_SECONDS ? Number.MAX_SAFE_INTEGER : runs)),
  // Also limits the search for a smaller counterexample.
  interruptAfterTimeLimit: Number(TIDEMARK_TEST_SECONDS || longestSeconds) * 1_000,
  // To find out only whether it fails, without a smaller counterexample.
  endOnFailure: TIDEMARK_TEST_UNSHRUNK === '1',
  ...(TIDEMARK_TEST_SEED && { seed: Number(TIDEMARK_TEST_SEED) }),
})
