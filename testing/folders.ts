import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwatchFolder, watchFolder } from './watchdog.ts'

export type TemporaryFolder = Disposable & { path: string }

/**
 * A folder for SQLite files and the like, in memory where there is room: a commit waits for no disk there. Tests of what
 * survives a crash kill processes, which loses nothing in either place. TIDEMARK_KEEP=1 keeps it, on the disk, to look
 * into after a failure.
 */
export function temporaryFolder(): TemporaryFolder {
  const keep = process.env.TIDEMARK_KEEP === '1'
  const path = createFolder('tidemark-test', keep ? undefined : fastFolder())
  if (keep) unwatchFolder(path)
  const dispose = () => (keep ? console.error(`Kept ${path}`) : removeFolder(path))
  return { path, [Symbol.dispose]: dispose }
}

/** Made only after the watchdog knows of it, so that a kill at any moment leaves no folder. */
export function createFolder(prefix: string, parent = tmpdir()): string {
  const path = join(realpathSync(parent), `${prefix}-${randomBytes(6).toString('hex')}`)
  watchFolder(path)
  mkdirSync(path, { mode: 0o700 })
  return path
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  unwatchFolder(path)
}

const MEMORY = '/dev/shm'
const MOST_IN_MEMORY = 8 * 2 ** 30

/**
 * Where files are made in memory, and room for a whole run of the tests is left; else where all temporary ones go.
 * TIDEMARK_ON_DISK=1 asks for the disk: benchmarks measure what is durable.
 */
export function fastFolder(): string {
  if (process.platform !== 'linux' || process.env.TIDEMARK_ON_DISK === '1') return tmpdir()
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) > MOST_IN_MEMORY ? MEMORY : tmpdir()
  } catch {
    return tmpdir() // There is none.
  }
}
