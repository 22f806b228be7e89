/**
 * npm run deploy: checks the files of deploy/ where no container engine runs. The container file is read by a Dockerfile
 * linter, the compose file and the Kubernetes resources by their schemas, the units by systemd; what they name must exist,
 * and the command itself is asked about every command line. The tools are installed here when they are first needed.
 *
 *   npm run deploy -- image     runs the steps of the container file in a folder, and what they made as another user
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = import.meta.dirname
if (!existsSync(join(FOLDER, 'node_modules'))) {
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], { cwd: FOLDER, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

if (process.argv[2] === 'image') {
  await (await import('./image.ts')).checkImage()
} else {
  const mistakes = (await import('./files.ts')).mistakesInFiles()
  for (const mistake of mistakes) console.error(mistake)
  if (mistakes.length > 0) process.exit(1)
  console.log('The files of deploy/ are valid, and every command line in them is right.')
}
