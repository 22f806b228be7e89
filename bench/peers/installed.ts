import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const FOLDER = import.meta.dirname
const require = createRequire(join(FOLDER, 'package.json'))

/** Peers are installed when they are first measured: whoever uses or tests Tidemark needs none of them. */
export function installPeers(progress: (text: string) => void): void {
  if (existsSync(join(FOLDER, 'node_modules'))) return
  progress('installing the peers, once')
  const { status, stderr } = spawnSync('npm', ['ci', '--loglevel=error'], { cwd: FOLDER, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The peers could not be installed (npm ci in bench/peers):\n${stderr}`)
}

export async function importPeer<T>(name: string): Promise<{ readonly module: T; readonly version: string }> {
  const module = (await import(pathToFileURL(require.resolve(name)).href)) as T
  const { version } = require(join(FOLDER, 'node_modules', name, 'package.json')) as { version: string }
  return { module, version }
}
