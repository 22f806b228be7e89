/**
 * Which test files run in one process. A process of its own costs a test file 0.3 to 1 second of processor time: to load
 * the modules, and to run all code cold. For twelve conformance suites that was 42 % of what node needed.
 *
 * Every file can still be run by itself. What a shared process asks of it: no top-level await, no hooks in a module that
 * other test files import too, and whatever it changes in the process it puts back.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Folders with the number of processes for their test files. The first that fits counts. */
const SHARED: readonly (readonly [folder: string, processes: number])[] = [
  ['packages/topics/test/conformance/', 12],
  ['packages/topics/test/postgres/', 4],
  ['packages/topics/test/sqlite/', 2],
  ['packages/topics/test/unit/', 1],
  ['packages/server/test/', 6],
  ['packages/pipeline/test/indexing/', 3],
  ['packages/pipeline/test/', 8],
  ['packages/cli/test/', 2],
  ['packages/web/test/', 1],
  ['testing/', 1],
]

/** These start processes for most of their time, or wait for long: others of their process would wait for them. */
const ALONE = [
  'cli/test/config.test',
  'cli/test/faults.test',
  'cli/test/progress-screen.test',
  'cli/test/start.test',
  'cli/test/two-machines.test',
  'conformance/suspects.test',
  'indexing/processes.test',
  'pipeline/test/disk/',
  'pipeline/test/whole/',
  'postgres/partition-life.test',
  'postgres/pglite-transactions.test',
  'postgres/repair.test',
  'postgres/restored-data.test',
  'silence.test',
  'testing/bundles/',
  'testing/harness.test',
  'testing/getting-started.test',
  'web/test/browser/',
  'web/test/journeys/',
]

const ENTRIES = `${import.meta.dirname}/../node_modules/.cache/tidemark-tests`
const TOGETHER = pathToFileURL(`${import.meta.dirname}/together.ts`).href

export type Shared = {
  /** Files for node's test runner, each of which runs several of those given. */
  readonly entries: readonly string[]
  /** Those that keep a process of their own. */
  readonly alone: readonly string[]
}

export function shareProcesses(files: readonly string[]): Shared {
  const alone = files.filter(file => folderOf(file) === undefined)
  const entries: string[] = []
  for (const [folder, processes] of SHARED) {
    const inside = files.filter(file => folderOf(file) === folder)
    // Dealt out like cards: neighbours have names, subjects and durations in common.
    for (let first = 0; first < Math.min(processes, inside.length); first++) {
      const hand = inside.filter((_, index) => index % processes === first)
      if (hand.length === 1) alone.push(...hand)
      else entries.push(writeEntry(folder, first + 1, hand))
    }
  }
  return { entries, alone }
}

function folderOf(file: string): string | undefined {
  if (ALONE.some(part => file.includes(part))) return undefined
  return SHARED.find(([folder]) => file.startsWith(folder))?.[0]
}

/** Named after its contents: node caches the compiled code of a file by its name. */
export function writeEntry(folder: string, number: number, files: readonly string[]): string {
  const program = `import { runTogether } from ${JSON.stringify(TOGETHER)}\nrunTogether(${JSON.stringify(files)})\n`
  const hash = createHash('sha256').update(program).digest('hex').slice(0, 8)
  const path = join(ENTRIES, `${folder.slice(0, -1).replaceAll('/', '-')}-${number}-${hash}.mjs`)
  mkdirSync(ENTRIES, { recursive: true })
  writeFileSync(path, program)
  return path
}
