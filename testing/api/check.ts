/**
 * npm run api: the description of the HTTP API passes Redocly's recommended rules, and the clients that two generators
 * make of it compile, with a program that uses each. Their tools are installed here when they are first needed.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = import.meta.dirname
const DESCRIPTION = join(FOLDER, '../../packages/server/openapi.json')
const MADE = join(FOLDER, 'made')
const tool = (name: string): string => join(FOLDER, 'node_modules/.bin', name)

if (!existsSync(join(FOLDER, 'node_modules'))) run('npm', ['ci', '--loglevel=error'])
rmSync(MADE, { recursive: true, force: true })
run(tool('redocly'), ['lint', DESCRIPTION, '--extends=recommended', '--format=stylish'])
run(tool('openapi-typescript'), [DESCRIPTION, '--output', join(MADE, 'openapi-typescript/schema.ts')])
run(tool('openapi-ts'), ['--input', DESCRIPTION, '--output', join(MADE, 'hey-api'), '--silent'])
for (const name of ['openapi-typescript', 'hey-api']) {
  copyFileSync(join(FOLDER, `${name}.program.ts`), join(MADE, name, 'program.ts'))
}
run(tool('tsc'), ['--project', join(FOLDER, 'tsconfig.json')])
console.log('The description passes, and both generated clients compile.')

function run(program: string, args: readonly string[]): void {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { status, error } = spawnSync(program, args, { cwd: FOLDER, env, stdio: 'inherit' })
  if (status === 0) return
  console.error(`${program} ${args.join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exit(1)
}
