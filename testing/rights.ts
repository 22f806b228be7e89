import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Every file and folder under `folder`, and itself, that anybody but its owner has rights on: 'path 644'. */
export function sharedWithOthers(folder: string): string[] {
  const paths = ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]
  return paths
    .map(path => ({ path, mode: statSync(join(folder, path)).mode & 0o777 }))
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ path, mode }) => `${path} ${mode.toString(8)}`)
}

/** As on a machine whose users share everything by default. Processes that are started meanwhile inherit it. */
export function openUmask(): Disposable {
  const before = process.umask(0)
  return { [Symbol.dispose]: () => void process.umask(before) }
}
