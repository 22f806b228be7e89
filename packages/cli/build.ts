import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Compiles src to dist for publishing. The packages it is built on come first: their types are read from their dist. */
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

rmSync(at('dist'), { recursive: true, force: true })
const compiled = spawnSync('tsc', ['--project', at('tsconfig.build.json')], { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)
chmodSync(at('dist/main.js'), 0o755)
