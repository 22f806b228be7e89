import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwatchFolder, watchFolder } from './watchdog.ts'

export type TemporaryFolder = Disposable & { path: string }

/** A folder for SQLite files and the like. TIDEMARK_KEEP=1 keeps it, to look into after a failure. */
export function temporaryFolder(): TemporaryFolder {
  const keep = process.env.TIDEMARK_KEEP === '1'
  const path = createFolder('tidemark-test')
  if (keep) unwatchFolder(path)
  const dispose = () => (keep ? console.error(`Kept ${path}`) : removeFolder(path))
  return { path, [Symbol.dispose]: dispose }
}

/** Made only after the watchdog knows of it, so that a kill at any moment leaves no folder. */
export function createFolder(prefix: string): string {
  const path = join(realpathSync(tmpdir()), `${prefix}-${randomBytes(6).toString('hex')}`)
  watchFolder(path)
  mkdirSync(path, { mode: 0o700 })
  return path
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  unwatchFolder(path)
}
