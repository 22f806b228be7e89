import type { TestEvent } from 'node:test/reporters'

export const PASSED = 'passed '
export const FAILED = 'failed '

/** A reporter of one line per test, so that a run can be ended at its first failure. Suites report nothing. */
export default async function* firstFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (type === 'test:pass' && (data.details.type === 'suite' || data.skip)) continue
    yield `${type === 'test:pass' ? PASSED : FAILED}${data.name.replaceAll('\n', ' ')}\n`
  }
}
