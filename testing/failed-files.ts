import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/**
 * A reporter that writes the files with a test that failed, one a line: the file that was run, not the suite in another
 * file that the test stands in. Of several that share a process, each is a suite with its path for a name.
 */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const told = new Set<string>()
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const file = failedFile(data)
    if (file === undefined || told.has(file)) continue
    told.add(file)
    yield `${file}\n`
  }
}

type Failure = { readonly name: string; readonly nesting: number; readonly file?: string; readonly entryFile?: string }

function failedFile({ name, nesting, file, entryFile = file }: Failure): string | undefined {
  if (entryFile === undefined) return undefined
  if (!entryFile.endsWith('.mjs')) return relative(process.cwd(), entryFile)
  // Its suite fails as well, and follows. If the process ends early, the name is the entry's, which cannot be run again.
  return nesting === 0 ? name : undefined
}
