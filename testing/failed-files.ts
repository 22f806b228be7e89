import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** A reporter that writes the files with a test that failed, one a line. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.file === undefined || told.has(data.file)) continue
    told.add(data.file)
    yield `${relative(process.cwd(), data.file)}\n`
  }
}
