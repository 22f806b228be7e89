/** A small deliberate defect, and the tests that should notice it. */
export type Mutant = {
  /** What the defect does, in a few words; unique. */
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  /** Exact text that occurs once in the file. */
  readonly find: string
  readonly replace: string
  /** Test files: each a part of a path under packages/ or testing/ that names at least one. They run in this order. */
  readonly tests: readonly string[]
  /** Runs only tests whose full name matches it, as `--test-name-pattern`. */
  readonly only?: string | undefined
  /** Runs conformance suites on SQLite only: for what no other engine executes. */
  readonly sqliteOnly?: true | undefined
}

export type Area = { readonly name: string; readonly mutants: readonly Mutant[] }

/** With its area, which is a part of its name. */
export type Listed = Mutant & { readonly area: string }
