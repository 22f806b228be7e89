import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter that writes the files with a test that failed, one a line: the file that was run, not the suite in another
 * file that the test stands in.
 */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>()
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const file = (data as { entryFile?: string }).entryFile ?? data.file
    if (file === undefined || told.has(file)) continue
    told.add(file)
    yield `${relative(process.cwd(), file)}\n`
  }
}
