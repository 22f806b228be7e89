import { AssertionError } from 'node:assert'
import { it as register, type TestContext, type TestOptions } from 'node:test'

type Body = (t: TestContext) => void | Promise<void>

/** A hook that a test needs and the database lacks. A hook that has only some of its kinds throws it for the others. */
export class MissingHookError extends Error {
  constructor(hook: string) {
    super(`the database has no hook '${hook}'`)
    this.name = 'MissingHookError'
  }
}

/** A test that is skipped with the reason as soon as it needs a hook that the database lacks. */
export function it(name: string, ...given: [Body] | [TestOptions, Body]): void {
  const [options, body] = given.length === 1 ? [{}, given[0]] : given
  void register(name, options, async t => {
    try {
      await body(t)
    } catch (error) {
      const missing = missingHook(error)
      if (missing === undefined) throw error
      t.skip(missing.message)
    }
  })
}

/** Disposal wraps a pending error; so do fast-check and an assertion that waited for another one. */
function missingHook(error: unknown): MissingHookError | undefined {
  if (error instanceof MissingHookError) return error
  if (!(error instanceof Error)) return undefined
  const inner = [error.cause]
  // Node 22 has no such class.
  if (typeof SuppressedError === 'function' && error instanceof SuppressedError)
    inner.push(error.error, error.suppressed)
  if (error instanceof AssertionError) inner.push(error.actual)
  return inner.map(missingHook).find(each => each !== undefined)
}
