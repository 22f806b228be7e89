import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CodedError } from 'tidemark'

/** As TypeScript, as published, and as a bundler may have named it. */
const NAMES = ['worker-main.ts', 'worker-main.js', 'worker-main.mjs', 'worker-main.cjs']

/** The file that a thread runs is missing: a bundler only includes what it sees imported. */
export class WorkerEntryError extends CodedError {
  /** Where it was searched. */
  readonly folder: string

  constructor(folder: string) {
    super(
      'TIDEMARK_WORKER_ENTRY',
      `Services in threads need the file worker-main.js, which is not in ${folder}: a bundler left it out. Bundle ` +
        "'@tidemark/pipeline/worker-main' as a second entry of that name beside the program, or keep " +
        "'@tidemark/pipeline' external",
    )
    this.folder = folder
  }
}

/** Beside this file. */
export function workerEntry(folder: string = folderOfCode()): string {
  const entry = NAMES.map(name => join(folder, name)).find(file => existsSync(file))
  if (entry === undefined) throw new WorkerEntryError(folder)
  return entry
}

/** A CommonJS bundle has no `import.meta.url`, but a `__dirname`. */
function folderOfCode(): string {
  const { url } = import.meta
  if (url !== undefined) return dirname(fileURLToPath(url))
  return typeof __dirname === 'string' ? __dirname : process.cwd()
}
